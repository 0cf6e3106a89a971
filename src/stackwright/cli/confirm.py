"""Asks the user for confirmation before data is lost: in `apply` and `up` on an existing cloud, and `down --purge`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask for confirmation before data is lost; for scripts.")
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
    from stackwright.forecast.losses import incomplete, losses, unknown, unreachable

    kinds = {resource.KIND for resource in RESOURCES} - {resource.KIND for resource in WITHOUT_READY}
    asked = [each for each in manifests if each.kind in kinds]
    spaces = {each.obj["metadata"].get("namespace") for each in asked}
    # With these, the plan queries clouds with their new credentials.
    secrets = [each for each in manifests if each.kind == SECRET and each.obj["metadata"]["namespace"] in spaces]
    existing: list[Manifest] = []
    recreates = False
    for each in asked:
        key = key_of(each.obj)
        if (found := await cluster.get(each.kind, key)) is not None:
            same = {"metadata": dict(zip(("namespace", "name"), key, strict=True)), "spec": found.get("spec") or {}}
            existing.append(Manifest(each.kind, same, whole=True))
            recreates = recreates or _recreates(each.obj) > _recreates(same)
    if not existing:
        return []
    namespace = existing[0].obj["metadata"]["namespace"]
    try:
        planned = (await foresee(cluster, [*asked, *secrets], namespace, resumed=True, assuming=True))[0]
        # If a cloud cannot be queried, the plan assumes recorded resources, so recreations of resources are unknown.
        lost = unreachable(planned) if recreates else []
        lost += [*incomplete(planned), *losses(planned)]
        again = (await foresee(cluster, existing, namespace, assuming=True))[0] if lost else []
    except (TransientError, TerminalError, Conflict) as error:
        return [unknown("the plan failed", str(error))]
    comparable = [entry for entry in again if entry != CUT_OFF]  # two incomplete forecasts cannot be compared
    anyway = {*losses(comparable), *incomplete(comparable)}
    return [each for each in lost if each not in anyway]


def _recreates(obj: Object) -> bool:
    return (obj.get("spec") or {}).get("recreatePolicy") == "Always"


def confirm(lost: list[str], refused: str) -> None:
    """Returns if nothing is lost or the user confirms; else raises CliError with `refused`. Not for --yes."""
    from stackwright.cli.failures import CliError

    if not lost:
        return
    common.echo("\n".join(["This would be lost:", *(f"  - {each}" for each in lost)]), err=True)
    if not sys.stdin.isatty():
        raise CliError(f"{refused} To confirm the losses, repeat the command with --yes.")
    if not typer.confirm("Continue?", err=True):
        raise CliError(refused)
