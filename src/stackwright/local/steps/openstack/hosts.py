"""Public endpoint names on this machine: `<service>.<public_domain_name>` resolves to the first node."""

from __future__ import annotations

from stackwright.local.commands import Report
from stackwright.local.host import hosts_file
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import cloud

TITLE = "Public names"
SERVICES = (
    "keystone", "glance", "placement", "cinder", "object-store", "nova", "neutron", "novncproxy", "horizon",
)  # fmt: skip


def lines(ctx: Context) -> list[str]:
    domains = {found["spec"].get("public_domain_name") for found in cloud.clouds(ctx)} - {None}
    address = ctx.cluster.node(1).address
    return [" ".join([address, *(f"{service}.{domain}" for service in SERVICES)]) for domain in sorted(domains)]


def done(ctx: Context) -> bool:
    return hosts_file.is_current(lines(ctx))


def run(ctx: Context, report: Report) -> None:
    hosts_file.write(lines(ctx))
