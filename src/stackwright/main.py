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
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stackwright.adapters.directories import LocalDirectories
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.kubernetes.login import wrong_with
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.kinds import NODE, SECRET
from stackwright.api.meta import Kind
from stackwright.controllers import volume
from stackwright.controllers.catalog import controllers
from stackwright.controllers.volume import Place
from stackwright.core.controller import ROLES
from stackwright.core.objects import label
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.plan import Key
from stackwright.core.ports import Cluster, Directories, Ports, TerminalError, absent
from stackwright.core.settings import PULLS, Settings, pulls
from stackwright.runtime import logs, metrics
from stackwright.runtime.accounts import AccountChecks
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.cluster.source import KopfSource
from stackwright.runtime.cluster.watches import Watches
from stackwright.runtime.events import Item
from stackwright.runtime.health import Health
from stackwright.runtime.own_pod import until_deleted
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
    namespace: str = "stackwright"
    log_level: str = "INFO"
    unrestricted: bool = False
    pod: str = ""  # its name; empty outside of a pod


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


def count_call(verb: str, kind: Kind) -> None:
    metrics.API_CALLS.labels(verb, kind.kind).inc()


def count_openstack(method: str, code: str) -> None:
    metrics.OPENSTACK_CALLS.labels(method, code).inc()


def ports(cluster: Cluster, kubeconfig: str | None, clouds: Clouds, unrestricted: bool = False) -> Ports:
    from stackwright.adapters.helm.command import HelmCli
    from stackwright.adapters.mariadb import MariaDbSql
    from stackwright.adapters.openstack.agents import CloudAgents
    from stackwright.adapters.openstack.inventory import CloudContents
    from stackwright.adapters.openstack.keystone import KeystoneIdentity
    from stackwright.adapters.rabbitmq import RabbitBroker

    return Ports(
        cluster=cluster,
        # One of four stays free for other namespaces: a call may take minutes, and its slot cannot be revoked.
        helm=HelmCli(kubeconfig=kubeconfig, share=3, records=None if unrestricted else cluster),
        sql=MariaDbSql(),
        broker=RabbitBroker(),
        identity=KeystoneIdentity(),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        contents=CloudContents(),
        agents=CloudAgents(),
        clouds=clouds,
    )


def runtime(cluster: Cluster, options: Options) -> Runtime:
    from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds

    store, queue = Store(), _queue()

    def tell(controller: str, key: Key) -> None:
        queue.add((controller, key))

    clouds = OpenStackClouds(partial(cluster.get, SECRET), tell, count_openstack)
    wired = ports(WriteThrough(store, cluster), options.kubeconfig, clouds, options.unrestricted)
    chosen_settings = settings(options)
    chosen = controllers(chosen_settings, options.roles, clouds, AccountChecks(wired))
    return Runtime(chosen, wired, CachedReader(store, cluster), store, queue)


def provisioner(cluster: Cluster, place: Place, directories: Directories) -> Runtime:
    """The runtime with the two controllers of local volumes; its only ports are Kubernetes and directories."""
    store = Store()
    wired = Ports(
        cluster=WriteThrough(store, cluster),
        helm=absent("helm"),
        sql=absent("database"),
        broker=absent("message bus"),
        identity=absent("identity service"),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        directories=directories,
    )
    return Runtime(volume.controllers(place, directories), wired, CachedReader(store, cluster), store, _queue())


def _queue() -> KeyedQueue[Item]:
    return KeyedQueue(jitter=lambda: random.uniform(1.0, 1.4))  # noqa: S311 - spreads load


async def operate(options: Options, evicted: Callable[[], None] = lambda: None) -> None:
    """Run the operator until it is cancelled or a part of it ends; `evicted` is called if its pod is being deleted."""
    from stackwright.admission.validate import errors_of
    from stackwright.runtime.webhook.admission import Admission
    from stackwright.runtime.webhook.certificate import Certificate

    logs.configure(options.log_level)
    cluster = _connect(options.kubeconfig)
    with tempfile.TemporaryDirectory() as folder:
        beside: list[Coroutine[Any, Any, None]] = []
        if options.webhook_port:
            own = Certificate(cluster, options.namespace, Path(folder), SystemClock())
            await own.ensure()
            admission = Admission(partial(errors_of, settings=settings(options)), own.context)
            beside += [own.keep(), admission.serve(options.webhook_port)]
        if options.metrics_port:
            beside.append(metrics.serve(options.metrics_port))
        if options.pod:
            beside.append(_until_evicted(cluster, (options.namespace, options.pod), evicted))
        source = KopfSource(options.kubeconfig)
        await _serve(runtime(cluster, options), source, options.health_port, *beside)


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
    await _serve(loop, KopfSource(options.kubeconfig), options.health_port)


def _connect(kubeconfig: str | None) -> KubernetesCluster:
    """A client of the cluster. Raises TerminalError."""
    if kubeconfig is not None:
        os.environ["KUBECONFIG"] = kubeconfig  # for Kopf and for helm
    try:
        return KubernetesCluster.from_file(kubeconfig, on_call=count_call)
    except Exception as error:  # lightkube, YAML, TLS and file errors alike
        problem = wrong_with(error)
        raise TerminalError(
            f"{kubeconfig} is not a usable kubeconfig: {problem}"
            if kubeconfig is not None
            else f"The service account of a pod cannot be used ({problem}); "
            "outside of a pod, name a kubeconfig by --kubeconfig FILE"
        ) from error


async def _serve(
    loop: Runtime, source: KopfSource, health_port: int | None, *beside: Coroutine[Any, Any, None]
) -> None:
    """List all kinds, then run the watches, the workers, and the tasks `beside`.

    The first task that ends cancels the others, and Kubernetes restarts the process. Imported and loaded objects are
    excluded from garbage collection, which otherwise takes a third of the start time with thousands of objects.
    """
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    gc.freeze()
    await loop.load()
    gc.freeze()
    watches = Watches(loop.kinds, loop.on_listed, loop.listing)
    watches.listen()
    if health_port:
        beside = (*beside, Health(loop, watches).serve(health_port))
    watching = asyncio.create_task(source.run(loop.kinds, loop.on_event))
    working = asyncio.create_task(loop.run())
    more = {asyncio.create_task(each) for each in beside}
    done, pending = await asyncio.wait({watching, working, *more}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
