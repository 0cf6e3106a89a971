"""The real core manager of Cluster API with our kinds: create, scale, pause, move, restart in between, delete.

The API server and the garbage collector are real, the OpenStack is in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

from polling import until

from core_manager import CONTROL, DATA, MACHINES, ClusterApi, core_manager, ref
from stackwright import main
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.system import SystemClock
from stackwright.api.crd import crd
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.kinds import NAMESPACE, SECRET
from stackwright.cloud.registry import INFRA_KINDS
from stackwright.controllers.catalog import controllers
from stackwright.controllers.floatingippool.objects import claim_status, ip_address
from stackwright.controllers.floatingippool.observe import Observed
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, CLUSTER, MACHINE
from stackwright.core.conditions import READY, done, waiting
from stackwright.core.settings import Settings
from stackwright.local import tools
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.reconcile import Runtime
from support.control_plane import control_plane
from support.openstack import MemoryClouds

SPACE = "capi"


@contextlib.contextmanager
def garbage_collector(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run Kubernetes' garbage collector, which deletes objects of deleted owners."""
    command = [
        tools.binary("kube-controller-manager"), f"--kubeconfig={kubeconfig}", "--leader-elect=false",
        "--controllers=garbage-collector-controller", "--secure-port=0",
    ]  # fmt: skip
    with (folder / "collector.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
        assert process.poll() is None, "it ran until the end"
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def operator(cluster: KubernetesCluster, clouds: MemoryClouds) -> AsyncIterator[None]:
    """Run the operator's controllers, with lists instead of watches."""
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


async def test_the_whole_course_with_the_real_core_manager(tmp_path: Path) -> None:
    clouds = MemoryClouds(SystemClock())
    for what, name in (("image", "debian"), ("flavor", "small")):
        clouds.put(what, name)
    clouds.put("network", "public", **{"router:external": True})
    foreign = {thing.id for thing in clouds.all()}

    def servers() -> set[str]:
        return {thing.id for thing in clouds.all("server")}

    with control_plane(tmp_path) as kubeconfig:
        cluster = KubernetesCluster.from_file(str(kubeconfig))
        capi = ClusterApi(cluster, SPACE)

        async def ready(count: int) -> bool:
            return len(await capi.ready()) == len(servers()) == count

        async def course() -> None:
            await cluster.apply(
                NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, "test"
            )
            for name, data in (("clouds", {}), (DATA, {"value": "I2Nsb3VkLWNvbmZpZwo="})):
                meta = {"name": name, "namespace": SPACE}
                await cluster.apply(
                    SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}, "test"
                )
            machine = {"flavor": "small", "image": {"filter": {"name": "debian"}}, "sshKeyName": "k"}
            identity = {"name": "clouds", "cloudName": "mine"}
            spec = {"identityRef": identity, "managedSubnets": [{"cidr": "10.6.0.0/24"}], "managedSecurityGroups": {}}
            async with operator(cluster, clouds):
                await capi.begin(spec, machine)
                await asyncio.sleep(5)
                assert {thing.id for thing in clouds.all()} == foreign
                await capi.pause(False)
                await capi.control_plane(machine)
                await capi.workers(1)
                await until(lambda: ready(2), "two machines")
                await capi.workers(2)
                await asyncio.sleep(1)
            async with operator(cluster, clouds):  # restarted in between
                await until(lambda: ready(3), "three machines")
                before = servers()
                await capi.pause(True)
                await asyncio.sleep(2)
                await capi.move()
                await asyncio.sleep(5)
                assert servers() == before
                await capi.pause(False)
                await until(lambda: ready(3), "three machines after the move")
                assert servers() == before
                assert len(clouds.all("router")) == len(clouds.all("floating-ip")) == 1
                await capi.workers(1)
                await until(lambda: ready(2), "two machines again")
                known = await capi.ready()
                (worker,) = [
                    m["metadata"]["name"] for m in await capi.list(MACHINES) if m["metadata"]["name"] != CONTROL
                ]
                await capi.lose(worker)
                assert len(servers()) == 1, "no other one is made"
                await capi.delete(MACHINE, worker)
                await until(lambda: ready(2), "two machines, of which one is new")
                assert len(await capi.ready() & known) == 1
                await capi.delete(CLUSTER, "c")
                await asyncio.sleep(1)
            async with operator(cluster, clouds):
                await until(capi.gone, "all is gone")
            assert {thing.id for thing in clouds.all() if not thing.type.endswith("-rule")} == foreign

        try:
            await capi.install(*(crd(resource) for resource in INFRA_KINDS))
            with garbage_collector(kubeconfig, tmp_path), core_manager(kubeconfig, tmp_path, SPACE):
                await course()
        finally:
            await cluster.close()


async def test_claims_are_reported_in_the_terms_of_cluster_api(tmp_path: Path) -> None:
    """Uses the definitions of Cluster API, which reject unknown and empty values."""
    with control_plane(tmp_path) as kubeconfig:
        cluster = KubernetesCluster.from_file(str(kubeconfig))
        capi = ClusterApi(cluster, SPACE)
        try:
            await capi.install(*(crd(resource) for resource in INFRA_KINDS))
            await cluster.apply(
                NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, "test"
            )
            await capi.apply(CLAIM, "a", {"poolRef": ref(OpenStackFloatingIPPool.KIND, "p")})
            for ready, served in ((waiting(READY, "no more", "MaxIPsReached"), ""), (done(READY, "", "Ready"), "a")):
                claim = await capi.get(CLAIM, "a")
                (told,) = claim_status(claim, ready, 1_750_000_000.0, served)
                body = capi.written(CLAIM, "a", {}, uid=claim["metadata"]["uid"]) | {"status": dict(told.status)}
                del body["spec"]
                await cluster.apply_status(CLAIM, body, "stackwright-floatingippool")
                assert claim_status(await capi.get(CLAIM, "a"), ready, 1_750_000_001.0, served) == (), "it is told once"
            pool = capi.written(OpenStackFloatingIPPool.KIND, "p", {}, uid="6ba7b810-9dad-11d1-80b4-00c04fd430c8")
            address = ip_address(Observed(pool, 0.0, {}), claim, "192.0.2.1")
            made = await cluster.apply(ADDRESS, address, "stackwright-floatingippool")
            assert made["spec"] == address["spec"], "nothing of it is unknown"
        finally:
            await cluster.close()
