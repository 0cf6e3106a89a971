"""The real core manager of Cluster API with our kinds: create, scale, pause, move, restart midway, delete.

The API server is real, the OpenStack is in memory, and the garbage collector does not run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import main
from stackwright.adapters.kubernetes import KubernetesCluster
from stackwright.adapters.system import SystemClock
from stackwright.api.crd import crd
from stackwright.api.kinds import CRD, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.api.openstackcluster import OpenStackCluster
from stackwright.api.openstackmachine import OpenStackMachine, OpenStackMachineTemplate
from stackwright.api.openstackserver import OpenStackServer
from stackwright.api.registry import SERVER_KINDS
from stackwright.controllers.catalog import controllers
from stackwright.core.clusterapi import CLUSTER, MACHINE, kind_of
from stackwright.core.objects import key_of
from stackwright.core.plan import Object
from stackwright.core.settings import Settings
from stackwright.local import ephemeral, tools
from stackwright.local.config import LocalCluster
from stackwright.runtime import x509
from stackwright.runtime.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.memory.openstack import MemoryClouds
from stackwright.runtime.reconcile import Runtime

pytestmark = pytest.mark.long
SPACE, CORE = "capi", "cluster.x-k8s.io/v1beta2"
CLUSTERS, MACHINES, SERVERS = OpenStackCluster.KIND, OpenStackMachine.KIND, OpenStackServer.KIND
IDENTITY = {"name": "clouds", "cloudName": "mine"}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def core_manager(kubeconfig: Path, folder: Path) -> Iterator[None]:
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
            command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "POD_NAMESPACE": SPACE}
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def install(cluster: KubernetesCluster) -> None:
    """Our kinds and those of Cluster API, whose definitions are in its Go module."""
    source = tools.source(tools.CORE_MANAGER)
    go = tools.find_go(LocalCluster.discover())
    command = [str(go), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api"]
    module = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True).stdout.strip()
    theirs = [yaml.safe_load(path.read_text()) for path in Path(module, "core/config/crd/bases").glob("*.yaml")]
    for each in theirs:
        versions = "_".join(version["name"] for version in each["spec"]["versions"])
        each["metadata"].setdefault("labels", {})["cluster.x-k8s.io/v1beta2"] = versions
        each.pop("status", None)
        each["metadata"].pop("creationTimestamp", None)
    for each in (*theirs, *(crd(resource) for resource in SERVER_KINDS)):
        await cluster.apply(CRD, each, "test")
    await until(cluster_serves(cluster), "the kinds are served")


def cluster_serves(cluster: KubernetesCluster) -> Callable[[], Any]:
    async def served() -> bool:
        with contextlib.suppress(Exception):
            for kind in (CLUSTER, MACHINE, CLUSTERS, MACHINES, SERVERS):
                await cluster.list(kind, SPACE)
            return True
        return False

    return served


async def until(what: Callable[[], Any], why: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not await what():
        assert time.monotonic() < end, why
        await asyncio.sleep(0.5)


@contextlib.asynccontextmanager
async def operator(cluster: KubernetesCluster, clouds: MemoryClouds) -> AsyncIterator[None]:
    """As the operator, with lists instead of watches."""
    store, queue = Store(), main._queue()
    wired = replace(main.ports(WriteThrough(store, cluster), None, clouds), clouds=clouds)
    chosen = controllers(Settings({}, {}), ("servers",), clouds)
    wired.helm.close()  # servers need none
    runtime = Runtime(chosen, wired, CachedReader(store, cluster), store, queue)
    await runtime.load()
    task = asyncio.create_task(runtime.run(resync=1.0))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def written(kind: Kind, name: str, spec: Object, **meta: Any) -> Object:
    named = {"name": name, "namespace": SPACE, **meta}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named, "spec": spec}


async def apply(cluster: KubernetesCluster, kind: Kind, name: str, spec: Object, **meta: Any) -> None:
    await cluster.apply(kind, written(kind, name, spec, **meta), "test")


def ref(kind: Kind, name: str) -> Object:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


async def group(cluster: KubernetesCluster, replicas: int) -> None:
    deployment = kind_of(CORE, "MachineDeployment")
    assert deployment is not None
    labels = {"cluster.x-k8s.io/cluster-name": "c", "group": "g"}
    machine = {
        "clusterName": "c", "bootstrap": {"dataSecretName": "data"},
        "infrastructureRef": ref(OpenStackMachineTemplate.KIND, "t"),
    }  # fmt: skip
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {
        "clusterName": "c", "replicas": replicas, "selector": {"matchLabels": labels},
        "rollout": {"strategy": rolling}, "template": {"metadata": {"labels": labels}, "spec": machine},
    }  # fmt: skip
    await apply(cluster, deployment, "g", spec, labels={"cluster.x-k8s.io/cluster-name": "c"})


async def pause(cluster: KubernetesCluster, paused: bool) -> None:
    await cluster.patch(CLUSTER, (SPACE, "c"), {"spec": {"paused": paused}})


async def moved(cluster: KubernetesCluster) -> None:
    """As `clusterctl move` leaves it, within one cluster: without status, with other UIDs, and owners by their new."""
    fresh: dict[str, str] = {}
    for kind in (CLUSTERS, MACHINES, SERVERS):
        for obj in await cluster.list(kind, SPACE):
            old = obj["metadata"]
            await cluster.patch(kind, key_of(obj), {"metadata": {"finalizers": []}})
            await cluster.delete(kind, key_of(obj))
            kept = {name: old[name] for name in ("name", "namespace", "labels", "annotations", "finalizers")}
            owners = [{**each, "uid": fresh.get(each["uid"], each["uid"])} for each in old.get("ownerReferences", [])]
            body = {**written(kind, old["name"], obj["spec"]), "metadata": {**kept, "ownerReferences": owners}}
            made = await cluster.apply(kind, body, "clusterctl")
            assert made["metadata"]["uid"] != old["uid"]
            fresh[old["uid"]] = made["metadata"]["uid"]


async def test_the_whole_course_with_the_real_core_manager(tmp_path: Path) -> None:
    clouds = MemoryClouds(SystemClock())
    for what, name in (("image", "debian"), ("flavor", "small")):
        clouds.put(what, name)
    clouds.put("network", "public", **{"router:external": True})
    foreign = {thing.id for thing in clouds.all()}

    def servers() -> set[str]:
        return {thing.id for thing in clouds.all("server")}

    with ephemeral.control_plane(tmp_path) as kubeconfig:
        cluster = KubernetesCluster.from_file(str(kubeconfig))

        async def ready(count: int) -> bool:
            found = [m for m in await cluster.list(MACHINE, SPACE) if (m["spec"].get("providerID"))]
            infra = [m for m in await cluster.list(MACHINES, SPACE) if (m.get("status") or {}).get("ready")]
            return len(found) == len(infra) == len(servers()) == count

        async def course() -> None:
            await install(cluster)
            await cluster.apply(
                NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, "test"
            )
            for name, data in (("clouds", {}), ("data", {"value": "I2Nsb3VkLWNvbmZpZwo="})):
                meta = {"name": name, "namespace": SPACE}
                await cluster.apply(
                    SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}, "test"
                )
            machine = {"flavor": "small", "image": {"filter": {"name": "debian"}}, "sshKeyName": "k"}
            spec = {"identityRef": IDENTITY, "managedSubnets": [{"cidr": "10.6.0.0/24"}], "managedSecurityGroups": {}}
            async with operator(cluster, clouds):
                # paused before owner and label exist
                await apply(cluster, CLUSTER, "c", {"infrastructureRef": ref(CLUSTERS, "infra"), "paused": True})
                await apply(cluster, CLUSTERS, "infra", spec)
                await asyncio.sleep(5)
                assert {thing.id for thing in clouds.all()} == foreign
                await pause(cluster, False)
                await apply(cluster, OpenStackMachineTemplate.KIND, "t", {"template": {"spec": machine}})
                await group(cluster, 2)
                await until(lambda: ready(2), "two machines")
                await group(cluster, 3)
                await asyncio.sleep(1)
            async with operator(cluster, clouds):  # restarted midway
                await until(lambda: ready(3), "three machines")
                before = servers()
                await pause(cluster, True)
                await asyncio.sleep(2)
                await moved(cluster)
                await asyncio.sleep(5)
                assert servers() == before
                await pause(cluster, False)
                await until(lambda: ready(3), "three machines after the move")
                assert servers() == before
                assert len(clouds.all("router")) == len(clouds.all("floating-ip")) == 1
                await group(cluster, 1)
                await until(lambda: ready(1), "one machine")
                await cluster.delete(CLUSTER, (SPACE, "c"))
                await asyncio.sleep(1)
            async with operator(cluster, clouds):

                async def gone() -> bool:
                    kinds = (CLUSTER, MACHINE, CLUSTERS, MACHINES, SERVERS)
                    return not any([await cluster.list(kind, SPACE) for kind in kinds])

                await until(gone, "all is gone")
            assert {thing.id for thing in clouds.all() if not thing.what.endswith("-rule")} == foreign

        try:
            await install(cluster)
            with core_manager(kubeconfig, tmp_path):
                await course()
        finally:
            await cluster.close()
