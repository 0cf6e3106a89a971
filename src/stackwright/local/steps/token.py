"""The proof: a token, issued by the cloud's Keystone to the administrator."""

from __future__ import annotations

from stackwright.local.commands import LocalError, Report
from stackwright.local.steps import charts, cloud
from stackwright.local.steps.context import Context

TITLE = "openstack token issue"
COMMAND = ("openstack", "token", "issue", "--column", "expires", "--column", "project_id", "--column", "user_id")


def done(ctx: Context) -> bool:
    """Asked of a cloud that this call made or waited for; one that was ready before is not asked again."""
    return not ctx.cloud_is_new


def run(ctx: Context, report: Report) -> None:
    for found in cloud.clouds(ctx):
        if "Keystone" not in {c["type"] for c in found["status"]["conditions"]}:
            continue  # a cloud without an identity service
        namespace = found["metadata"]["namespace"]
        try:
            words = ("exec", "--namespace", namespace, "deployment/keystone-client", "--", *COMMAND)
            ctx.token = charts.kubectl(ctx, *words, limit=120)
        except LocalError as error:
            raise LocalError(f"The cloud in {namespace} is ready, but issues no token: {error}") from None
