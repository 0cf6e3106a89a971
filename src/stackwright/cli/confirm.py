"""Asks before anything is lost: `apply` and `up` over a cloud that is there, and `down --purge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stackwright.cli.manifests import Manifest
    from stackwright.cli.planned import Entry
    from stackwright.core.ports import Reader

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before something is lost; for scripts.")]


def losses(found: Iterable[Entry]) -> list[str]:
    """What a plan uninstalls, the clouds, services and databases that it deletes, and what is lost with them or by a
    change. Accounts are not data.
    """
    from stackwright.api.contracts import DatabaseAccount
    from stackwright.api.registry import CLOUD_KINDS, SERVICE_KINDS
    from stackwright.cli.planned import DELETE, NOTE

    kinds = {resource.KIND.kind for resource in (*CLOUD_KINDS, *SERVICE_KINDS)} | {DatabaseAccount.KIND.kind}
    return [
        entry.what
        for entry in found
        if (entry.does == DELETE and (entry.verb == "helm" or entry.subject[0] in kinds))
        or (entry.does == NOTE and entry.verb == "lost")
    ]


async def foreseen_losses(cluster: Reader, manifests: list[Manifest]) -> list[str]:
    """What applying them would take from clouds and services that are there. Asks nothing of what is new.

    Of what is paused, it is what a resume would take: nobody is asked again then.
    """
    from stackwright.api.registry import CLOUD_KINDS, SERVICE_KINDS
    from stackwright.cli.plan import foresee
    from stackwright.core.objects import key_of
    from stackwright.core.ports import Conflict, NotYet, Refused

    kinds = {resource.KIND for resource in (*CLOUD_KINDS, *SERVICE_KINDS)}
    asked = [each for each in manifests if each.kind in kinds]
    there = [each for each in asked if await cluster.get(each.kind, key_of(each.obj)) is not None]
    if not there:
        return []
    try:
        found, _ = await foresee(cluster, asked, there[0].obj["metadata"]["namespace"], resumed=True)
    except (NotYet, Refused, Conflict) as error:
        return [f"unknown, because no plan can be made: {error}"]
    return losses(found)


def confirm(lost: list[str], refused: str) -> None:
    """Return when nothing is lost or somebody agrees. Raises CliError that begins with `refused`. Not for --yes."""
    from stackwright.cli.cluster import CliError

    if not lost:
        return
    typer.echo("\n".join(["This would be lost:", *(f"  - {each}" for each in lost)]), err=True)
    if not sys.stdin.isatty():
        raise CliError(f"{refused} To do it all the same, repeat the command with --yes.")
    if not typer.confirm("Go on?", err=True):
        raise CliError(refused)
