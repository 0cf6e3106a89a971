"""The pinned core manager of Cluster API with our kinds and the real cloud: the whole life of a cluster.

The user data of its machines joins no Kubernetes, so Cluster API identifies them by providerID and never as nodes. At
most three servers exist.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from full import FullCloud
from infra import NAMESPACE, Infra, example, project
from polling import until
from storage import Storage

from core_manager import CONTROL, DATA, INFRA, ClusterApi, core_manager, definitions
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.controllers.infra.clusterapi import CLUSTER, MACHINE

LIMIT = 600  # seconds to create or delete some servers, on a busy machine
QUIET = 15  # seconds without an effect that prove that an action is held back
USER_DATA = base64.b64encode(b"#!/bin/sh\n").decode()
# In the order in which the test removes their finalizers.
THEIRS = ("machinedeployments", "machinesets", "machines", "clusters")


@pytest.fixture(scope="module")
def infra(storage_cloud: FullCloud, storage: Storage) -> Iterator[Infra]:
    forget(storage_cloud)  # leftovers of a killed run, which would be paused, or wait for the core manager
    with project(storage_cloud, storage.vms) as made:
        try:
            yield made
        finally:
            forget(storage_cloud)


def forget(cloud: FullCloud) -> None:
    """Delete Cluster API's kinds with all objects; no pause applies to ours then."""
    for plural in THEIRS:
        kind = f"{plural}.{CLUSTER.group}"
        for name in cloud.kubectl("get", kind, "-n", NAMESPACE, "-o", "name", code=None).split():
            if name.startswith(f"{plural[:-1]}.{CLUSTER.group}/"):
                patch = ("--type=merge", "-p", '{"metadata": {"finalizers": null}}')
                cloud.kubectl("patch", name, "-n", NAMESPACE, *patch, code=None)
    names = [each["metadata"]["name"] for each in definitions()]
    cloud.kubectl("delete", "crd", *names, "--ignore-not-found", limit=300)


async def test_the_whole_course_in_the_real_cloud(infra: Infra, tmp_path: Path) -> None:
    kubeconfig = infra.cloud.cluster.kubeconfig
    cluster = KubernetesCluster.from_file(str(kubeconfig))
    try:
        capi = ClusterApi(cluster, NAMESPACE)
        await capi.install()
        with core_manager(kubeconfig, tmp_path, NAMESPACE):
            await Course(infra, capi).run()
    finally:
        await cluster.close()
        print((tmp_path / "core.log").read_text()[-4000:] if (tmp_path / "core.log").exists() else "")


class Course:
    def __init__(self, infra: Infra, capi: ClusterApi) -> None:
        self.infra, self.capi = infra, capi

    async def run(self) -> None:
        await self.create()
        await self.scale_after_a_pause_with_a_restart()
        await self.move()
        await self.scale_in()
        await self.lose_a_server()
        await self.delete()

    def count(self, what: str) -> int:
        return sum(kind == what for kind, _ in self.infra.there())

    async def machines(self, wanted: int) -> set[str]:
        """The providerIDs of this many machines, as soon as exactly these servers exist."""
        found: set[str] = set()

        async def ready() -> bool:
            found.clear()
            found.update(await self.capi.ready())
            return len(found) == wanted == self.count("server")

        took = await until(ready, f"{wanted} machines, and no other server", LIMIT)
        assert {each.rsplit("/", 1)[-1] for each in found} == {id_ for k, id_ in self.infra.there() if k == "server"}
        print(f"{wanted} machines after {took:.0f} s")
        return found

    async def unchanged(self) -> None:
        before = self.infra.there()
        await asyncio.sleep(QUIET)
        assert self.infra.there() == before

    async def create(self) -> None:
        data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": DATA, "namespace": NAMESPACE}}
        self.infra.cloud.apply({**data, "data": {"value": USER_DATA}})
        shared, machine = example("cluster")[0]["spec"], example("cluster")[2]["spec"]
        await self.capi.begin({**shared, "bastion": {"enabled": False}}, machine)
        await asyncio.sleep(QUIET)
        assert self.infra.there() == set(), "it is paused before it has an owner and a label"
        await self.capi.pause(False)
        await self.capi.control_plane(machine)
        await self.capi.workers(1)
        await self.machines(2)
        address = self.infra.status("openstackclusters", INFRA)["apiServerFloatingIP"]["address"]

        async def outside() -> bool:
            told = (await self.capi.get(MACHINE, CONTROL)).get("status", {}).get("addresses", [])
            return {"type": "ExternalIP", "address": address} in told

        print(f"its floating IP is told after {await until(outside, 'the floating IP of the API', 120):.0f} s")
        top = await self.capi.get(CLUSTER, "c")
        assert top["spec"]["controlPlaneEndpoint"]["host"] == address

    async def scale_after_a_pause_with_a_restart(self) -> None:
        await self.capi.pause(True)
        await self.capi.workers(2)
        await self.unchanged()
        await self.capi.pause(False)
        await asyncio.sleep(3)
        self.infra.kill_operator()
        await self.machines(3)

    async def move(self) -> None:
        known, before = await self.machines(3), self.infra.there()
        await self.capi.pause(True)
        await asyncio.sleep(3)
        await self.capi.move()
        await self.unchanged()
        await self.capi.pause(False)
        assert await self.machines(3) == known
        await self.unchanged()
        assert self.infra.there() == before

    async def scale_in(self) -> None:
        await self.capi.workers(1)
        await self.machines(2)

    async def lose_a_server(self) -> None:
        """Another client deletes a server: only the deletion of its machine creates a new server."""
        known = await self.machines(2)
        (worker,) = self.infra.names("openstackmachines") - {CONTROL}
        print(f"a lost server is told after {await self.capi.lose(worker, 180):.0f} s")

        async def went() -> bool:
            return self.count("server") == 1

        await until(went, "the lost server is gone", 60)
        await self.unchanged()
        assert self.count("server") == 1, "no other one is made"
        await self.capi.delete(MACHINE, worker)
        assert len(await self.machines(2) & known) == 1

    async def delete(self) -> None:
        await self.capi.delete(CLUSTER, "c")
        await asyncio.sleep(2)
        self.infra.kill_operator()
        print(f"gone after {await until(self.capi.gone, 'all is gone', LIMIT):.0f} s")
        self.infra.only(set())
