"""Names of objects in arguments of commands: `NAME`, or `KIND/NAME` as in kubectl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackwright.api.meta import Resource

    Kinds = Sequence[type[Resource]]


def parse(text: str | None, verb: str) -> tuple[Kinds, str | None]:
    """The kinds and the name of `NAME` (of a cloud) or `KIND/NAME`.

    Raises CliError for an unknown kind, and for a kind without a condition Ready, to which `verb` cannot be done.
    """
    from stackwright.api.wording import choices
    from stackwright.cli.cluster import CliError
    from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES, STILL

    word, slash, name = (text or "").rpartition("/")
    if not slash:
        return CLOUD_KINDS, text
    if not word or not name:
        raise CliError(f"{text}: write KIND/NAME")
    for resource in RESOURCES:
        if word.lower() in (resource.KIND.kind.lower(), resource.KIND.plural, *resource.KIND.short):
            if resource in STILL:
                raise CliError(f"{resource.KIND.kind} has no condition Ready, so stackwright cannot {verb} it")
            return (resource,), name
    known = [resource.KIND.kind for resource in RESOURCES if resource not in STILL]
    raise CliError(f"{text}: unknown kind {word!r}; {choices(word, known)}")
