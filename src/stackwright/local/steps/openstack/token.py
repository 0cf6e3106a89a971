"""Final check: Keystone of each cloud issues a token to the administrator."""

from __future__ import annotations

from stackwright.core.conditions import find
from stackwright.local.commands import LocalError, Report
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts, cloud

TITLE = "openstack token issue"
COMMAND = ("openstack", "token", "issue", "--column", "expires", "--column", "project_id", "--column", "user_id")


def identities(ctx: Context) -> list[str]:
    """Namespaces of clouds with an identity service."""
    return [c["metadata"]["namespace"] for c in cloud.clouds(ctx) if find(c, "Keystone")]


def skipped(ctx: Context) -> str | None:
    if reason := cloud.skipped(ctx):  # no step has waited for existing clouds either
        return reason
    return None if identities(ctx) else "no cloud has an identity service"


def done(ctx: Context) -> bool:
    """Never: an earlier token does not show that Keystone issues one now."""
    return False


def run(ctx: Context, report: Report) -> None:
    for namespace in identities(ctx):
        try:
            words = ("exec", "--namespace", namespace, "deployment/keystone-client", "--", *COMMAND)
            ctx.token = charts.kubectl(ctx, *words, limit=120)
        except LocalError as error:
            raise LocalError(f"The cloud in {namespace} is ready, but a token request failed: {error}") from None
