"""The namespaces of manifests: each must exist or be named by a manifest, and is applied first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackwright.api.kinds import NAMESPACE as NAMESPACE_KIND
from stackwright.cli.manifests.load import BadManifest, Manifest

if TYPE_CHECKING:
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader


async def check_namespaces(reader: Reader, manifests: list[Manifest]) -> None:
    """Raises BadManifest for a namespace that does not exist and that no manifest names."""
    asked = {
        m.obj["metadata"]["namespace" if m.placed else "name"]
        for m in manifests
        if m.placed or m.kind == NAMESPACE_KIND
    }
    needed = {m.obj["metadata"]["namespace"] for m in manifests if m.kind.namespaced} - asked
    if missing := [name for name in sorted(needed) if await reader.get(NAMESPACE_KIND, ("", name)) is None]:
        hint = "set metadata.namespace to it, or add a manifest of kind Namespace"
        raise BadManifest("\n".join(f"Namespace {name} does not exist; {hint}" for name in missing))


async def ordered(reader: Reader, manifests: list[Manifest]) -> list[Manifest]:
    """All objects to apply, in order."""
    given = {m.obj["metadata"]["name"] for m in manifests if m.kind == NAMESPACE_KIND}
    wanted = sorted({m.obj["metadata"]["namespace"] for m in manifests if m.placed} - given)
    missing = [name for name in wanted if await reader.get(NAMESPACE_KIND, ("", name)) is None]
    spaces = [Manifest(NAMESPACE_KIND, _namespace(name)) for name in missing]
    return [*spaces, *sorted(manifests, key=lambda m: m.kind != NAMESPACE_KIND)]


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
