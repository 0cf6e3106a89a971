"""Start etcd and the API server. A later step waits for them, so that nodes are prepared meanwhile."""

from __future__ import annotations

from stackwright.local import tools
from stackwright.local.commands import Report
from stackwright.local.config import CGROUP, LocalCluster
from stackwright.local.host import services
from stackwright.local.host.services import Service
from stackwright.local.kubernetes import flags
from stackwright.local.steps.context import Context

TITLE = "Start etcd and the apiserver"


def wanted(cluster: LocalCluster) -> list[Service]:
    where = flags.Endpoints()
    audit = flags.audit(cluster.config / "audit-policy.yaml", cluster.logs / "audit" / "audit.log")
    return [
        service(cluster, flags.etcd(cluster.pki, cluster.etcd_data, where)),
        service(cluster, flags.apiserver(cluster.pki, where) + audit),
    ]


def service(cluster: LocalCluster, argv: list[str], name: str = "", inputs: str = "") -> Service:
    """A service of the control plane; `name` defaults to the first word of its command."""
    name = name or argv[0]
    return Service(name, tuple(argv), f"{CGROUP}/system/{name}", tools.environment(cluster), inputs)


def done(ctx: Context) -> bool:
    policy = ctx.cluster.config / "audit-policy.yaml"
    current = policy.exists() and policy.read_text() == flags.AUDIT_POLICY
    return current and all(services.is_current(ctx.cluster, one) for one in wanted(ctx.cluster))


def run(ctx: Context, report: Report) -> None:
    cluster = ctx.cluster
    cluster.etcd_data.mkdir(parents=True, exist_ok=True, mode=0o700)
    cluster.config.mkdir(parents=True, exist_ok=True)
    (cluster.logs / "audit").mkdir(parents=True, exist_ok=True, mode=0o700)
    (cluster.config / "audit-policy.yaml").write_text(flags.AUDIT_POLICY)
    services.ensure(cluster, *wanted(cluster))
