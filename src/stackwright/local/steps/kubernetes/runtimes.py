"""A containerd for each node, with a clone of the prepared image store. Running nodes get only the new images."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

from stackwright.local import tools
from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster, Node
from stackwright.local.host import cgroups, services
from stackwright.local.host.machine import profile
from stackwright.local.host.services import Service
from stackwright.local.image import store
from stackwright.local.kubernetes import flags
from stackwright.local.node import config as node_config
from stackwright.local.steps.context import Context
from stackwright.local.waiting import wait_for

TITLE = "Start container runtimes"


def service(cluster: LocalCluster, node: Node, argv: list[str], config: str) -> Service:
    """A program in a node's namespaces, which is restarted when its configuration changes."""
    name = f"{node.name}-{argv[0]}"
    digest = hashlib.sha256(config.encode()).hexdigest()[:16]
    return Service(name, (*node.enter(), *argv), f"{node.cgroup}/{argv[0]}", tools.environment(cluster), digest)


def containerd(ctx: Context, node: Node) -> Service:
    config = files(ctx, node)[node.containerd_config]
    return service(ctx.cluster, node, flags.containerd(node.containerd_config), config)


def files(ctx: Context, node: Node) -> dict[Path, str]:
    sandbox = ctx.image("pause") or ""
    return {
        node.containerd_config: node_config.containerd(node, sandbox, profile()),
        node.cni_conf / "10-pods.conflist": node_config.cni(node),
    }


def done(ctx: Context) -> bool:
    wanted = {image.reference for image in ctx.images}
    for node in ctx.nodes:
        if not _is_current(ctx, node) or wanted - set(store.references(ctx.cluster, node.containerd_socket)):
            return False
    return True


def _is_current(ctx: Context, node: Node) -> bool:
    if not services.is_current(ctx.cluster, containerd(ctx, node)) or not node.containerd_socket.exists():
        return False
    return all(path.exists() and path.read_text() == text for path, text in files(ctx, node).items())


def run(ctx: Context, report: Report) -> None:
    for node in ctx.nodes:
        prepare(ctx, node, report)
    services.ensure(ctx.cluster, *(containerd(ctx, node) for node in ctx.nodes))
    for node in ctx.nodes:
        log = services.log_file(ctx.cluster, f"{node.name}-containerd")
        wait_for(f"containerd of {node.name}", partial(_unready, ctx, node), limit=60, log=log, report=report)
    report("new images")
    store.load(ctx.images, ctx.nodes, ctx.cluster)


def prepare(ctx: Context, node: Node, report: Report) -> None:
    node.home.mkdir(parents=True, exist_ok=True)
    write(files(ctx, node))
    cgroups.ensure(f"{node.cgroup}/shims")
    if not node.containerd_root.exists():
        prepared = store.ensure(ctx.cluster, ctx.images, report)
        report(f"cloning images for {node.name}")
        store.clone(prepared / "root", node.containerd_root)


def write(contents: dict[Path, str]) -> None:
    """Write the files that differ, and no others: kube-proxy ends whenever its configuration is written."""
    for path, text in contents.items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _unready(ctx: Context, node: Node) -> str | None:
    try:
        store.references(ctx.cluster, node.containerd_socket)
    except LocalError as problem:
        return str(problem).splitlines()[-1]
    return None
