"""The core manager of Cluster API, its kinds, and a cluster `c` as users write it, for tests with any API server."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from polling import until

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.machine import OpenStackMachine, OpenStackMachineTemplate
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import CRD
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import CLUSTER, CONTROL_PLANE, MACHINE, NAME, kind_of
from stackwright.core.conditions import find
from stackwright.core.objects import key_of
from stackwright.core.plan import Object
from stackwright.local import tools
from stackwright.local.config import LocalCluster
from stackwright.runtime import x509

CLUSTERS, MACHINES, SERVERS = OpenStackCluster.KIND, OpenStackMachine.KIND, OpenStackServer.KIND
TEMPLATES = OpenStackMachineTemplate.KIND
DEPLOYMENTS = kind_of(f"{CLUSTER.group}/{CLUSTER.version}", "MachineDeployment") or CLUSTER
KINDS = (CLUSTER, MACHINE, CLUSTERS, MACHINES, SERVERS)
INFRA, CONTROL, DATA = "infra", "cp", "data"  # the OpenStackCluster, a machine, and the Secret of all with their start


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def core_manager(kubeconfig: Path, folder: Path, namespace: str) -> Iterator[None]:
    """It runs on this machine; its log is `core.log` in the folder."""
    program = tools.built(LocalCluster.discover(), tools.CORE_MANAGER) / "cluster-api-core"
    made, _ = x509.issue(x509.authority("test", time.time()), ["localhost"], ["127.0.0.1"], time.time())
    keys = folder / "webhook"
    keys.mkdir(exist_ok=True)
    for name in ("tls.crt", "tls.key"):
        (keys / name).write_text(made[name])
    command = [
        program, "--kubeconfig", kubeconfig, "--insecure-diagnostics", "--diagnostics-address=127.0.0.1:0",
        f"--health-addr=127.0.0.1:{_free_port()}", f"--webhook-port={_free_port()}", f"--webhook-cert-dir={keys}",
        "--sync-period=10s",
    ]  # fmt: skip
    with (folder / "core.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "POD_NAMESPACE": namespace}
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def definitions() -> list[Object]:
    """The CustomResourceDefinitions of Cluster API, which are in its Go module."""
    tools.built(LocalCluster.discover(), tools.CORE_MANAGER)  # which brings the module
    command = [str(tools.find_go(LocalCluster.discover())), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api"]
    source = tools.source(tools.CORE_MANAGER)
    module = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True).stdout.strip()
    found = [yaml.safe_load(path.read_text()) for path in Path(module, "core/config/crd/bases").glob("*.yaml")]
    for each in found:
        versions = "_".join(version["name"] for version in each["spec"]["versions"])
        each["metadata"].setdefault("labels", {})["cluster.x-k8s.io/v1beta2"] = versions
        each.pop("status", None)
        each["metadata"].pop("creationTimestamp", None)
    return found


def ref(kind: Kind, name: str) -> Object:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


class ClusterApi:
    """The objects of a cluster `c` in a namespace, by the hands of its user and of clusterctl."""

    def __init__(self, cluster: KubernetesCluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    async def install(self, *ours: Object) -> None:
        """Cluster API's kinds, and `ours` where they are not there yet."""
        for each in (*definitions(), *ours):
            await self.cluster.apply(CRD, each, "test")

        async def served() -> bool:
            for kind in (*KINDS, DEPLOYMENTS):
                await self.list(kind)
            return True

        await until(served, "the kinds are served")

    async def list(self, kind: Kind) -> list[Object]:
        return await self.cluster.list(kind, self.namespace)

    async def get(self, kind: Kind, name: str) -> Object:
        found = await self.cluster.get(kind, (self.namespace, name))
        assert found is not None, f"{kind.kind} {name}"
        return found

    async def delete(self, kind: Kind, name: str) -> None:
        await self.cluster.delete(kind, (self.namespace, name))

    def written(self, kind: Kind, name: str, spec: Object, **meta: Any) -> Object:
        named = {"name": name, "namespace": self.namespace, **meta}
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named, "spec": spec}

    async def apply(self, kind: Kind, name: str, spec: Object, **meta: Any) -> None:
        await self.cluster.apply(kind, self.written(kind, name, spec, **meta), "test")

    async def begin(self, spec: Object, machine: Object) -> None:
        """Paused, so its infrastructure is there before it has an owner and a label."""
        await self.apply(CLUSTER, "c", {"infrastructureRef": ref(CLUSTERS, INFRA), "paused": True})
        await self.apply(CLUSTERS, INFRA, spec)
        await self.apply(TEMPLATES, "t", {"template": {"spec": machine}})

    async def pause(self, paused: bool) -> None:
        await self.cluster.patch(CLUSTER, (self.namespace, "c"), {"spec": {"paused": paused}})

    async def control_plane(self, machine: Object) -> None:
        """One machine of it, which no control plane provider made."""
        labels = {NAME: "c", CONTROL_PLANE: ""}
        await self.apply(MACHINES, CONTROL, machine, labels=labels)
        spec = {**_machine(MACHINES, CONTROL)}
        await self.apply(MACHINE, CONTROL, spec, labels=labels)

    async def workers(self, replicas: int) -> None:
        labels = {NAME: "c", "group": "g"}
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        spec = {
            "clusterName": "c", "replicas": replicas, "selector": {"matchLabels": labels},
            "rollout": {"strategy": rolling},
            "template": {"metadata": {"labels": labels}, "spec": _machine(TEMPLATES, "t")},
        }  # fmt: skip
        await self.apply(DEPLOYMENTS, "g", spec, labels={NAME: "c"})

    async def move(self) -> None:
        """As `clusterctl move` leaves it, within one cluster: without status, with other UIDs, and owners by their new.

        What belongs to others is deleted first, so that the garbage collector has nothing to do.
        """
        kinds = (CLUSTERS, MACHINES, SERVERS)
        saved = {kind: await self.list(kind) for kind in kinds}
        for kind in reversed(kinds):
            for obj in saved[kind]:
                await self.cluster.patch(kind, key_of(obj), {"metadata": {"finalizers": []}})
                await self.cluster.delete(kind, key_of(obj))
        fresh: dict[str, str] = {}
        for kind in kinds:
            for obj in saved[kind]:
                old = obj["metadata"]
                kept = {name: old[name] for name in ("name", "namespace", "labels", "annotations", "finalizers")}
                owners = [
                    {**each, "uid": fresh.get(each["uid"], each["uid"])} for each in old.get("ownerReferences", [])
                ]
                body = {**self.written(kind, old["name"], obj["spec"]), "metadata": {**kept, "ownerReferences": owners}}
                made = await self.cluster.apply(kind, body, "clusterctl")
                assert made["metadata"]["uid"] != old["uid"]
                fresh[old["uid"]] = made["metadata"]["uid"]

    async def lose(self, worker: str, seconds: float = 120) -> float:
        """Its OpenStackServer is deleted by a foreign hand. Seconds until its machine tells that it has no server."""
        await self.delete(SERVERS, worker)

        async def told() -> bool:
            ready = find(await self.get(MACHINES, worker)) or {}
            return ready.get("reason") == "BlockedInstanceNotFound"

        return await until(told, "a lost server is told", seconds)

    async def ready(self) -> set[str]:
        """The providerIDs of all machines, if each Machine has one and its infrastructure is ready; else none."""
        machines, infra = await self.list(MACHINE), await self.list(MACHINES)
        known = [str(each["spec"].get("providerID") or "") for each in machines]
        told = [str(each["spec"].get("providerID") or "") for each in infra if (each.get("status") or {}).get("ready")]
        whole = "" not in known and sorted(known) == sorted(told) and len(told) == len(infra)
        return set(known) if whole else set()

    async def gone(self) -> bool:
        return not any([await self.list(kind) for kind in KINDS])


def _machine(kind: Kind, name: str) -> Object:
    return {"clusterName": "c", "bootstrap": {"dataSecretName": DATA}, "infrastructureRef": ref(kind, name)}
