"""Wiring: the only place that knows all. It puts adapters into ports, controllers into the runtime, and runs it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackwright.adapters.helm import HelmCli, chart_digests
from stackwright.adapters.kubernetes import KubernetesCluster
from stackwright.adapters.mariadb import MariaDbSql
from stackwright.adapters.openstack import KeystoneIdentity
from stackwright.adapters.rabbitmq import RabbitBroker
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.meta import Kind
from stackwright.controllers.catalog import ROLES, controllers
from stackwright.core.ports import Cluster, Ports
from stackwright.core.settings import Settings
from stackwright.runtime import logs, metrics
from stackwright.runtime.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.certificate import install
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Item, Runtime
from stackwright.runtime.source import KopfSource, Webhook


@dataclass(frozen=True)
class Options:
    """What the operator's command line says."""

    roles: tuple[str, ...] = ROLES
    images: Path | None = None
    health_port: int | None = None
    metrics_port: int | None = None
    webhook_port: int | None = None
    kubeconfig: str | None = None
    namespace: str = "stackwright"
    log_level: str = "INFO"


def settings(images: Path | None) -> Settings:
    """Images from a file {name: reference}, digests of the shipped charts."""
    references = json.loads(images.read_text()) if images and images.exists() else {}
    return Settings(references, chart_digests())


def count_call(verb: str, kind: Kind) -> None:
    metrics.API_CALLS.labels(verb, kind.kind).inc()


def ports(cluster: Cluster, kubeconfig: str | None) -> Ports:
    return Ports(
        cluster=cluster,
        helm=HelmCli(kubeconfig=kubeconfig),
        sql=MariaDbSql(),
        broker=RabbitBroker(),
        identity=KeystoneIdentity(),
        clock=SystemClock(),
        entropy=SystemEntropy(),
    )


def runtime(cluster: Cluster, options: Options) -> Runtime:
    store = Store()
    queue: KeyedQueue[Item] = KeyedQueue(jitter=lambda: random.uniform(0.8, 1.2))  # noqa: S311 - spreads load
    chosen = controllers(settings(options.images), options.roles)
    wired = ports(WriteThrough(store, cluster), options.kubeconfig)
    return Runtime(chosen, wired, CachedReader(store, cluster), store, queue)


async def operate(options: Options) -> None:
    """Run the operator until it is told to stop."""
    logs.configure(options.log_level)
    if options.kubeconfig:
        cluster = KubernetesCluster.from_file(options.kubeconfig, on_call=count_call)
        os.environ["KUBECONFIG"] = options.kubeconfig  # for Kopf and for helm
    else:
        cluster = KubernetesCluster.from_env(on_call=count_call)
    if options.metrics_port:
        metrics.serve(options.metrics_port)
    with tempfile.TemporaryDirectory() as folder:
        webhook = None
        if options.webhook_port:
            webhook = Webhook(options.webhook_port, *await install(cluster, options.namespace, Path(folder)))
        await _serve(runtime(cluster, options), KopfSource(options.health_port, webhook, options.kubeconfig))


async def _serve(loop: Runtime, source: KopfSource) -> None:
    """Load, then watch and work. Whichever ends first ends the others: Kubernetes starts the process again."""
    await loop.load()
    watching = asyncio.create_task(source.run(loop.kinds, loop.on_event))
    working = asyncio.create_task(loop.run())
    done, pending = await asyncio.wait({watching, working}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
