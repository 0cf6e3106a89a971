"""Public endpoint names on this machine: `<service>.<public_domain_name>` resolves to the first node."""

from __future__ import annotations

from stackwright.local.commands import Report
from stackwright.local.host import hosts_file
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import cloud

TITLE = "Public names"


def lines(ctx: Context) -> list[str]:
    domains = {found["spec"].get("public_domain_name") for found in cloud.clouds(ctx)} - {None}
    if not domains:
        return []
    from stackwright.services.registry import SERVICES  # slow import

    hosts = [public.host for declared in SERVICES for public in declared.public]
    address = ctx.cluster.node(1).address
    return [" ".join([address, *(f"{host}.{domain}" for host in hosts)]) for domain in sorted(domains)]


def done(ctx: Context) -> bool:
    return hosts_file.is_current(lines(ctx))


def run(ctx: Context, report: Report) -> None:
    hosts_file.write(lines(ctx))
