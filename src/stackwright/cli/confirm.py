"""Asks the user for confirmation before data is lost: in `apply` and `up` on an existing cloud, and `down --purge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader
    from stackwright.forecast.entries import Entry

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask for confirmation before data is lost; for scripts.")
]


def losses(found: Iterable[Entry]) -> list[str]:
    """The releases, clouds, services, servers and resources in an OpenStack that a plan deletes, and what is lost with
    them or by a change. Accounts are not data: a database may remain without its account.
    """
    from stackwright.cloud.registry import CLOUD_KINDS, INFRA_KINDS, SERVICE_KINDS
    from stackwright.core.openstack.resource_types import TYPES
    from stackwright.forecast.entries import DELETE, NOTE

    precious = {what for what, facts in TYPES.items() if facts.precious}
    kinds = {resource.KIND.kind for resource in (*CLOUD_KINDS, *SERVICE_KINDS, *INFRA_KINDS)}
    return [
        entry.what
        for entry in found
        if (entry.does == DELETE and (entry.verb == "helm" or entry.subject[0] in kinds or entry.thing in precious))
        or (entry.does == NOTE and entry.verb == "lost")
    ]


async def foreseen_losses(cluster: Reader, manifests: list[Manifest]) -> list[str]:
    """Deletions from existing objects if the manifests were applied. Skips new objects, kinds that the operator does
    not process, and losses that these manifests do not cause.

    For paused objects, the deletions of a resume are included, because a resume asks for no confirmation. For the same
    reason, missing credentials are treated as valid.
    """
    from stackwright.api.kinds import SECRET
    from stackwright.cli.foresee import foresee
    from stackwright.cli.manifests.load import Manifest
    from stackwright.cloud.registry import RESOURCES, WITHOUT_READY
    from stackwright.core.errors import Conflict, TerminalError, TransientError
    from stackwright.core.objects import key_of
    from stackwright.forecast.entries import CUT_OFF

    kinds = {resource.KIND for resource in RESOURCES} - {resource.KIND for resource in WITHOUT_READY}
    asked = [each for each in manifests if each.kind in kinds]
    spaces = {each.obj["metadata"].get("namespace") for each in asked}
    # With these, the plan queries clouds with their new credentials.
    secrets = [each for each in manifests if each.kind == SECRET and each.obj["metadata"]["namespace"] in spaces]
    there: list[Manifest] = []
    anew = False
    for each in asked:
        key = key_of(each.obj)
        if (found := await cluster.get(each.kind, key)) is not None:
            same = {"metadata": dict(zip(("namespace", "name"), key, strict=True)), "spec": found.get("spec") or {}}
            there.append(Manifest(each.kind, same, whole=True))
            anew = anew or _made_anew(each.obj) > _made_anew(same)
    if not there:
        return []
    namespace = there[0].obj["metadata"]["namespace"]
    try:
        planned = (await foresee(cluster, [*asked, *secrets], namespace, resumed=True, assuming=True))[0]
        # If a cloud cannot be queried, the plan assumes recorded resources, so recreations of resources are unknown.
        lost = [_unknown(entry.what) for entry in planned if anew and entry.verb == "ask"]
        lost += [*unforeseen(planned), *losses(planned)]
        again = (await foresee(cluster, there, namespace, assuming=True))[0] if lost else []
    except (TransientError, TerminalError, Conflict) as error:
        return [_unknown("the plan failed", str(error))]
    # Two incomplete forecasts cannot be compared.
    anyway = {*losses(again), *unforeseen(again)} - {_unknown(CUT_OFF)}
    return [each for each in lost if each not in anyway]


def unforeseen(found: Iterable[Entry]) -> list[str]:
    """Places where a plan is incomplete: later steps may lose data."""
    from stackwright.forecast.entries import FAIL

    return [_unknown(entry.what, entry.why) for entry in found if entry.does == FAIL and entry.verb == "fail"]


def _unknown(*why: str) -> str:
    return f"unknown, because {': '.join(filter(None, why))}"


def _made_anew(obj: Object) -> bool:
    return (obj.get("spec") or {}).get("recreatePolicy") == "Always"


def confirm(lost: list[str], refused: str) -> None:
    """Returns if nothing is lost or the user confirms; else raises CliError with `refused`. Not for --yes."""
    from stackwright.cli.cluster.failures import CliError

    if not lost:
        return
    common.echo("\n".join(["This would be lost:", *(f"  - {each}" for each in lost)]), err=True)
    if not sys.stdin.isatty():
        raise CliError(f"{refused} To confirm the losses, repeat the command with --yes.")
    if not typer.confirm("Continue?", err=True):
        raise CliError(refused)
