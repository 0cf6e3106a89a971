"""Asks before anything is lost: `apply` and `up` over a cloud that is there, and `down --purge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common

if TYPE_CHECKING:
    from stackwright.cli.change.manifests import Manifest
    from stackwright.cli.change.plan_render import Entry
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before something is lost; for scripts.")]


def losses(found: Iterable[Entry]) -> list[str]:
    """What a plan uninstalls, the clouds, services, databases and servers that it deletes, what goes in an OpenStack,
    and what is lost with them or by a change. Accounts are not data.
    """
    from stackwright.api.services.contracts import DatabaseAccount
    from stackwright.cli.change.plan_render import DELETE, NOTE
    from stackwright.cloud.registry import CLOUD_KINDS, SERVER_KINDS, SERVICE_KINDS
    from stackwright.core.openstack.resource_types import TYPES

    precious = {what for what, facts in TYPES.items() if facts.precious}
    own = (*CLOUD_KINDS, *SERVICE_KINDS, *SERVER_KINDS)
    kinds = {resource.KIND.kind for resource in own} | {DatabaseAccount.KIND.kind}
    return [
        entry.what
        for entry in found
        if (entry.does == DELETE and (entry.verb == "helm" or entry.subject[0] in kinds or entry.thing in precious))
        or (entry.does == NOTE and entry.verb == "lost")
    ]


async def foreseen_losses(cluster: Reader, manifests: list[Manifest]) -> list[str]:
    """What applying them would take from what is there. Asks nothing of what is new, and of kinds that the operator
    does nothing with. Ignore losses these manifests do not cause.

    Of what is paused, it is what a resume would take: nobody is asked again then.
    """
    from stackwright.api.kinds import SECRET
    from stackwright.cli.change.manifests import Manifest
    from stackwright.cli.change.plan import foresee
    from stackwright.cli.change.plan_render import CUT_OFF
    from stackwright.cloud.registry import RESOURCES, STILL
    from stackwright.core.objects import key_of
    from stackwright.core.ports import Conflict, NotYet, Refused

    kinds = {resource.KIND for resource in RESOURCES} - {resource.KIND for resource in STILL}
    asked = [each for each in manifests if each.kind in kinds]
    spaces = {each.obj["metadata"].get("namespace") for each in asked}
    # With these, clouds are asked by the credentials that they are to have.
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
        planned = (await foresee(cluster, [*asked, *secrets], namespace, resumed=True))[0]
        # What is recorded counts as there, where a cloud cannot be asked: nobody knows what would be made anew.
        lost = [_unknown(entry.what) for entry in planned if anew and entry.verb == "ask"]
        lost += [*unforeseen(planned), *losses(planned)]
        again = (await foresee(cluster, there, namespace))[0] if lost else []
    except (NotYet, Refused, Conflict) as error:
        return [_unknown("no plan can be made", str(error))]
    # Of two forecasts that are cut off nobody knows what they have in common.
    anyway = {*losses(again), *unforeseen(again)} - {_unknown(CUT_OFF)}
    return [each for each in lost if each not in anyway]


def unforeseen(found: Iterable[Entry]) -> list[str]:
    """Where a plan ends before all is foreseen: what comes after that may be a loss."""
    from stackwright.cli.change.plan_render import FAIL

    return [_unknown(entry.what, entry.why) for entry in found if entry.does == FAIL and entry.verb == "fail"]


def _unknown(*why: str) -> str:
    return f"unknown, because {': '.join(filter(None, why))}"


def _made_anew(obj: Object) -> bool:
    return (obj.get("spec") or {}).get("recreatePolicy") == "Always"


def confirm(lost: list[str], refused: str) -> None:
    """Return when nothing is lost or somebody agrees. Raises CliError that begins with `refused`. Not for --yes."""
    from stackwright.cli.cluster import CliError

    if not lost:
        return
    common.echo("\n".join(["This would be lost:", *(f"  - {each}" for each in lost)]), err=True)
    if not sys.stdin.isatty():
        raise CliError(f"{refused} To do it all the same, repeat the command with --yes.")
    if not typer.confirm("Go on?", err=True):
        raise CliError(refused)
