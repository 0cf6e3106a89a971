"""Wiring of the operator and the provisioner: adapters into ports, controllers into the runtime.

Modules that only the operator needs are imported where they are used, because the provisioner runs on every node and
must stay small.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import socket
import tempfile
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stackwright.adapters import threads
from stackwright.adapters.directories import LocalDirectories
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.kubernetes.login import wrong_with
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.kinds import NODE, SECRET
from stackwright.controllers import volume
from stackwright.controllers.catalog import controllers
from stackwright.controllers.volume import Place
from stackwright.core.controller import ROLES
from stackwright.core.errors import TerminalError
from stackwright.core.helm.limits import SHARE
from stackwright.core.objects import label
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.plan import Key
from stackwright.core.ports import Cluster, Directories, Fence, Ports, Reader, absent, unfenced
from stackwright.core.settings import OPERATOR_NAMESPACE, PULLS, Settings, pulls
from stackwright.runtime import logs, metrics
from stackwright.runtime.accounts import AccountChecks
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.cluster.managed import ManagedCluster, ManagedReader
from stackwright.runtime.cluster.source import KopfSource
from stackwright.runtime.cluster.watches import Watches
from stackwright.runtime.events import Item
from stackwright.runtime.health import Health
from stackwright.runtime.lease.election import Election
from stackwright.runtime.lease.fence import LeaseLost, WriteFence, guarded, is_lost
from stackwright.runtime.lease.siblings import Siblings
from stackwright.runtime.own_pod import until_deleted, until_terminated
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime

YOUNG = 5000  # new objects between two runs of Python's garbage collector, whose default is 700


@dataclass(frozen=True)
class Options:
    """Options from the command line of the operator."""

    roles: tuple[str, ...] = ROLES
    images: Path | None = None
    health_port: int | None = None
    metrics_port: int | None = None
    webhook_port: int | None = None
    kubeconfig: str | None = None
    namespace: str = OPERATOR_NAMESPACE
    log_level: str = "INFO"
    unrestricted: bool = False
    pod: str = ""  # its name; empty outside of a pod
    uid: str = ""  # of the pod; elsewhere, those of one machine with the same one are one holder of the Lease
    webhook_certificate: Path | None = None  # folder of a mounted Secret; None: the operator issues its own
    webhook_trust: bool = True  # write the CA into the webhook configuration
    namespaces: tuple[str, ...] = ()  # those that it manages; none: all
    lease_lock: Path | None = None  # file that the containers of the pod share

    @property
    def identity(self) -> str:
        """The holder of the Lease: this process, or all containers of the pod, whose earlier processes have ended."""
        return f"{self.pod or socket.gethostname()}_{self.uid or uuid.uuid4()}"

    @property
    def shares(self) -> bool:
        """Whether other processes write as the same holder: each container of the pod has some of the roles."""
        return bool(self.pod and self.uid) and set(self.roles) != set(ROLES)


@dataclass(frozen=True)
class ProvisionerOptions:
    """Options from the command line of the provisioner."""

    node: str
    path: str
    health_port: int | None = None
    kubeconfig: str | None = None
    log_level: str = "INFO"


def settings(options: Options) -> Settings:
    """Settings with images from a file {name: reference}, how they are pulled from the file PULLS beside it, and
    digests and schemas of the shipped charts.
    """
    from stackwright.adapters.helm.command import chart_digests, chart_schemas, privileged_charts

    references = json.loads(options.images.read_text()) if options.images and options.images.exists() else {}
    beside = options.images.with_name(PULLS) if options.images else None
    return Settings(
        images=references,
        charts=chart_digests(),
        privileged=privileged_charts(),
        unrestricted=options.unrestricted,
        namespace=options.namespace,
        schemas=chart_schemas(),
        **pulls(beside.read_text() if beside and beside.exists() else ""),
    )


def ports(
    cluster: Cluster, kubeconfig: str | None, clouds: Clouds, unrestricted: bool = False, fence: Fence = unfenced
) -> Ports:
    from stackwright.adapters.accounts import providers
    from stackwright.adapters.helm.command import HelmCli
    from stackwright.adapters.openstack.deployed.agents import CloudAgents
    from stackwright.adapters.openstack.deployed.inventory import CloudContents

    return Ports(
        cluster=cluster,
        helm=HelmCli(kubeconfig=kubeconfig, share=SHARE, records=None if unrestricted else cluster, fence=fence),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        providers=providers(),
        contents=CloudContents(),
        agents=CloudAgents(),
        clouds=clouds,
        fence=fence,
    )


def runtime(cluster: Cluster, options: Options, fence: Fence = unfenced) -> Runtime:
    from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds

    store, queue = Store(), _queue()

    def tell(controller: str, key: Key) -> None:
        queue.add((controller, key))

    clouds = OpenStackClouds(partial(cluster.get, SECRET), tell, metrics.count_openstack)
    wired = ports(WriteThrough(store, cluster), options.kubeconfig, clouds, options.unrestricted, fence)
    chosen_settings = settings(options)
    chosen = controllers(chosen_settings, options.roles, clouds, AccountChecks(wired), direct=cluster)
    reader: Reader = CachedReader(store, cluster)
    if options.namespaces:  # the cache holds nothing of others, which does not mean that there is nothing
        reader = ManagedReader(reader, options.namespaces, options.namespace)
    return Runtime(chosen, wired, reader, store, queue)


def provisioner(cluster: Cluster, place: Place, directories: Directories) -> Runtime:
    """The runtime with the two controllers of local volumes; its only ports are Kubernetes and directories."""
    store = Store()
    wired = Ports(
        cluster=WriteThrough(store, cluster),
        helm=absent("helm"),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        directories=directories,
    )
    return Runtime(volume.controllers(place, directories), wired, CachedReader(store, cluster), store, _queue())


def _queue() -> KeyedQueue[Item]:
    return KeyedQueue(jitter=lambda: random.uniform(1.0, 1.4))  # noqa: S311 - spreads load


async def operate(options: Options, evicted: Callable[[], None] = lambda: None) -> None:
    """Run the operator until it is cancelled or a part of it ends; `evicted` is called if its pod is being deleted.

    It reconciles and writes while it holds the Lease, and answers API servers before, too. Raises TerminalError if it
    lost the Lease, or may not use it.
    """
    from stackwright.runtime.webhook.admission import Admission
    from stackwright.runtime.webhook.certificate import Certificate
    from stackwright.runtime.webhook.process import ReviewProcess

    logs.configure(options.log_level)
    may = WriteFence()
    cluster: Cluster = _connect(options.kubeconfig, may.check)
    if options.namespaces:
        cluster = ManagedCluster(cluster, options.namespaces, options.namespace)
    # A client of its own: otherwise a renewal would wait while slow requests use all connections.
    of_lease = _connect(options.kubeconfig)
    election = Election(of_lease, may, options.namespace, options.identity, SystemClock())
    siblings = Siblings(options.lease_lock, alone=not options.shares)
    with tempfile.TemporaryDirectory() as folder, guarded(may):
        theirs, trusts = options.webhook_certificate, options.webhook_trust
        certificate = Certificate(cluster, options.namespace, Path(folder), SystemClock(), theirs, trusts)
        webhook = bool(options.webhook_port)
        health = Health(waits=lambda: election.waits, serves=lambda: certificate.served or not webhook)
        beside: list[Coroutine[Any, Any, None]] = [until_terminated()]
        if options.health_port:
            beside.append(health.serve(options.health_port))
        if options.metrics_port:
            beside.append(metrics.serve(options.metrics_port))
        if options.pod:
            beside.append(_until_evicted(cluster, (options.namespace, options.pod), evicted))
        if options.webhook_port:
            admission = Admission(ReviewProcess(settings(options)), certificate.context)
            beside += [certificate.keep(), admission.serve(options.webhook_port)]

        async def lead() -> None:
            await siblings.join()
            await election.acquire()
            await _first(election.keep(), reconcile())

        async def reconcile() -> None:
            if webhook:
                await certificate.ensure()
            source = KopfSource(options.kubeconfig, options.namespaces)
            await _serve(runtime(cluster, options, may.check), source, health)

        try:
            await _first(lead(), *beside)
        except (LeaseLost, BaseExceptionGroup) as error:
            if not is_lost(error):
                raise
            raise TerminalError(f"The operator ends, because another one may write: {may.why}") from None
        finally:
            await election.end(threads.busy, siblings.last)


async def _until_evicted(cluster: Cluster, pod: Key, evicted: Callable[[], None]) -> None:
    await until_deleted(cluster, pod)
    evicted()


async def provision(options: ProvisionerOptions) -> None:
    """Run the provisioner of one node until it is cancelled or a part of it ends."""
    logs.configure(options.log_level)
    cluster = _connect(options.kubeconfig)
    node = await cluster.get(NODE, ("", options.node))
    if node is None:
        raise TerminalError(f"Node {options.node} does not exist")
    place = volume.Place(options.node, label(node, volume.HOSTNAME) or options.node, options.path)
    loop = provisioner(cluster, place, LocalDirectories(options.path))
    health = Health()
    beside = [health.serve(options.health_port)] if options.health_port else []
    await _first(_serve(loop, KopfSource(options.kubeconfig), health), *beside)


def _connect(kubeconfig: str | None, fence: Fence = unfenced) -> KubernetesCluster:
    """A client of the cluster. Raises TerminalError."""
    if kubeconfig is not None:
        os.environ["KUBECONFIG"] = kubeconfig  # for Kopf and for helm
    try:
        return KubernetesCluster.from_file(kubeconfig, on_call=metrics.count_call, fence=fence)
    except Exception as error:  # lightkube, YAML, TLS and file errors alike
        raise TerminalError(
            f"{kubeconfig} is not a usable kubeconfig: {wrong_with(error)}"
            if kubeconfig is not None
            else f"The service account of a pod cannot be used ({wrong_with(error)}); "
            "outside of a pod, name a kubeconfig by --kubeconfig FILE"
        ) from error


async def _serve(loop: Runtime, source: KopfSource, health: Health) -> None:
    """List all kinds, then run the watches and the workers.

    Imported and loaded objects are excluded from garbage collection, which otherwise takes a third of the start time
    with thousands of objects.
    """
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    gc.freeze()
    await loop.load()
    gc.freeze()
    watches = Watches(loop.kinds, loop.on_listed, loop.listing, source.namespaces)
    watches.listen()
    health.watch(loop, watches)
    await _first(source.run(loop.kinds, loop.on_event), loop.run(), until_terminated(source.ready))


async def _first(*work: Coroutine[Any, Any, None]) -> None:
    """The first task that ends, or fails, cancels the others; Kubernetes then restarts the process."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
