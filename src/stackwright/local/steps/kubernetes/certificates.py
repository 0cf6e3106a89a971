"""Create certificates, keys, and kubeconfigs; renew a certificate if its content changes or it expires soon."""

from __future__ import annotations

from pathlib import Path

from stackwright.local.commands import Report
from stackwright.local.config import LocalCluster, Node
from stackwright.local.kubernetes import identities, pki
from stackwright.local.kubernetes.pki import Identity
from stackwright.local.steps.context import Context

TITLE = "Certificates"


def wanted(ctx: Context) -> list[Identity]:
    return [*identities.control_plane(), *(i for node in ctx.nodes for i in identities.of_node(node))]


def done(ctx: Context) -> bool:
    place = ctx.cluster.pki
    files = (place / "service-account.pub", place / "encryption.yaml", ctx.cluster.kubeconfig)
    kubeconfigs = (path for path, _ in _kubeconfigs(ctx.cluster, ctx.nodes))
    return all(pki.is_current(place, i) for i in wanted(ctx)) and all(f.exists() for f in (*files, *kubeconfigs))


def run(ctx: Context, report: Report) -> None:
    place = ctx.cluster.pki
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    for authority in identities.AUTHORITIES:
        pki.ensure_authority(place, authority)
    pki.ensure_service_account_key(place)
    pki.ensure_encryption_config(place)
    for identity in wanted(ctx):
        pki.ensure_identity(place, identity)
    for path, identity in _kubeconfigs(ctx.cluster, ctx.nodes):
        pki.write_private(path, identities.kubeconfig(place, identity, ctx.cluster.api_url))
    # The user's kubeconfig last: its presence means that all other files exist.
    portable = identities.portable_kubeconfig(place, identities.ADMIN, ctx.cluster.api_url)
    pki.write_private(ctx.cluster.kubeconfig, portable)


def _kubeconfigs(cluster: LocalCluster, nodes: list[Node]) -> list[tuple[Path, Identity]]:
    users = [identities.CONTROLLER_MANAGER, identities.SCHEDULER, identities.KUBE_PROXY]
    users += [identities.of_node(node)[0] for node in nodes]
    return [(identities.kubeconfig_path(cluster, user), user) for user in users]
