"""The stored specs of a cloud, for `history` and `rollback`."""

from __future__ import annotations

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
    from stackwright.cli.failures import CliError
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
    from stackwright.cli.failures import CliError
    from stackwright.core.secrets.revisions import stored_spec

    secret = await cluster.get(SECRET, revision.key)
    try:
        return stored_spec(revision, secret)
    except ValueError as problem:
        raise CliError(f"Secret {'/'.join(revision.key)} {problem}") from None
