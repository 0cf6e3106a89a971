"""Names of objects in arguments of commands: `NAME`, or `KIND/NAME` as in kubectl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stackwright.cli.failures import CliError

if TYPE_CHECKING:
    from stackwright.api.meta import Kind, Resource
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

    Kinds = Sequence[type[Resource]]


class NotFound(CliError):
    pass


async def found(reader: Reader, namespace: str, what: str, verb: str) -> tuple[Kind, Object]:
    """The object of a word: KIND/NAME, a cloud, or a service by its name in a cloud, of its program or its object.

    Raises NotFound with the existing objects, and CliError as `parse`.
    """
    from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS
    from stackwright.services.registry import SERVICES

    if "/" in what:
        kinds, name = parse(what, verb)
        names, hint = {name}, ""
    else:
        kinds = (*CLOUD_KINDS, *SERVICE_KINDS)
        names = {what, *(each.name for each in SERVICES if what in (each.service, each.name))}
        hint = f"; other objects are named KIND/NAME, such as OpenStackServer/{what}"
    there = []
    for kind in (resource.KIND for resource in kinds):
        for obj in await reader.list(kind, namespace):
            if obj["metadata"]["name"] in names:
                return kind, obj
            there.append(f"{kind.kind}/{obj['metadata']['name']}")
    raise NotFound(f"No {what} found in namespace {namespace}; found: {', '.join(sorted(there)) or 'none'}{hint}")


def parse(text: str | None, verb: str) -> tuple[Kinds, str | None]:
    """The kinds and the name of `NAME` (of a cloud) or `KIND/NAME`.

    Raises CliError for an unknown kind, and for a kind without a condition Ready, to which `verb` cannot be done.
    """
    from stackwright.api.wording import choices
    from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES, WITHOUT_READY

    word, slash, name = (text or "").rpartition("/")
    if not slash:
        return CLOUD_KINDS, text
    if not word or not name:
        raise CliError(f"{text}: write KIND/NAME")
    for resource in RESOURCES:
        if word.lower() in (resource.KIND.kind.lower(), resource.KIND.plural, *resource.KIND.short):
            if resource in WITHOUT_READY:
                raise CliError(f"{resource.KIND.kind} has no condition Ready, so stackwright cannot {verb} it")
            return (resource,), name
    known = [resource.KIND.kind for resource in RESOURCES if resource not in WITHOUT_READY]
    raise CliError(f"{text}: unknown kind {word!r}; {choices(word, known)}")
