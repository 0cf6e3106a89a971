"""The stored specs of a cloud, for `history` and `rollback`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster, Reader
    from stackwright.core.secrets.revisions import Revision


async def kept(reader: Reader, cloud: Object) -> list[Revision]:
    """The revisions of a cloud, the oldest first."""
    from stackwright.api.kinds import SECRET
    from stackwright.core.secrets import revisions

    return revisions.of(cloud, await reader.list(SECRET, cloud["metadata"]["namespace"], revisions.labels(cloud)))


def choose(found: list[Revision], number: int | None, cloud: Object) -> Revision:
    """The revision of that number, or the newest with another spec. Raises CliError with the stored revisions."""
    from stackwright.cli.cluster import CliError
    from stackwright.core.digest import digest

    now = digest(cloud.get("spec") or {})
    fitting = [each for each in found if each.number == number or (number is None and each.digest != now)]
    if not fitting:
        there = ", ".join(str(each.number) for each in found) or "none"
        what = f"revision {number}" if number else "earlier revision"
        raise CliError(f"{cloud['kind']} {cloud['metadata']['name']} has no {what}; kept: {there}")
    return fitting[-1]


async def spec_of(cluster: Cluster, revision: Revision) -> dict[str, Any]:
    """The spec of a revision. Raises CliError if it was deleted, is not readable, or was changed."""
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster import CliError
    from stackwright.core.digest import digest
    from stackwright.core.objects import secret_data
    from stackwright.core.secrets.revisions import FIELD

    name = f"Secret {'/'.join(revision.key)}"
    try:
        spec = json.loads(secret_data(await cluster.get(SECRET, revision.key))[FIELD])
    except (KeyError, ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise CliError(f"{name} contains no spec")
    if digest(spec) != revision.digest:
        raise CliError(f"{name} was changed: its spec is not the one that the operator stored")
    return spec
