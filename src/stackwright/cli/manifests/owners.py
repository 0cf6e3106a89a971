"""The owners of manifests: Kubernetes deletes an object whose owners do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackwright.api.errors import printable
from stackwright.cli.manifests.load import COMPANIONS, BadManifest, Manifest
from stackwright.cloud.registry import BY_KIND
from stackwright.controllers.infra.clusterapi import kind_of
from stackwright.core.errors import NotServed
from stackwright.core.objects import key_of

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader


async def check_owners(reader: Reader, manifests: list[Manifest]) -> None:
    """Raises BadManifest for each owner that does not exist with the uid of its reference, which an object of an older
    cluster or of a former owner has. A reference that the object already has is accepted.
    """
    errors = []
    for each in manifests:
        if not (given := each.obj["metadata"].get("ownerReferences")):
            continue
        before = await reader.get(each.kind, key_of(each.obj)) or {"metadata": {}}
        known = {reference["uid"] for reference in before["metadata"].get("ownerReferences") or ()}
        for at, reference in enumerate(given):
            if reference["uid"] not in known and (wrong := await _problem(reader, each, reference)):
                errors.append(printable(f"{each.where}metadata.ownerReferences[{at}]: {wrong}"))
    if errors:
        raise BadManifest("\n".join(errors))


async def _problem(reader: Reader, manifest: Manifest, reference: Object) -> str:
    name = f"{reference['kind']} {reference['name']}"
    kind = _kind(reference)
    if kind is None:
        return f"cannot check whether {name} exists, without which Kubernetes deletes the object; remove it"
    try:
        found = await reader.get(kind, (_namespace(manifest, kind), reference["name"]))
    except NotServed:
        found = None
    if found is not None and found["metadata"].get("uid") == reference["uid"]:
        return ""
    return f"there is no {name} with this uid, so Kubernetes would delete the object and its content; remove it"


def _namespace(manifest: Manifest, kind: Kind) -> str:
    """An owner is in the namespace of the object."""
    return str(manifest.obj["metadata"].get("namespace", "")) if kind.namespaced else ""


def _kind(reference: Object) -> Kind | None:
    name, version = reference["kind"], reference["apiVersion"]
    ours = BY_KIND[name].KIND if name in BY_KIND else COMPANIONS.get(name)
    return ours if ours and version in ours.api_versions else kind_of(version, name)
