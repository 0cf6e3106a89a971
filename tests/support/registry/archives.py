"""Built images of the cache with any layers; no buildah is needed."""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local.image import archive
from stackwright.local.image.cache import BuiltImage
from support.registry.memory import digest


def built(
    cache: Path, name: str, *layers: bytes, known: int = 0, architecture: str = "amd64", tag: str = "1"
) -> BuiltImage:
    """Write an archive without the first `known` layers, which its base contains."""
    folder = cache / "images" / f"{name}-{tag}"
    folder.mkdir(parents=True)
    diffs = [digest(layer) for layer in layers]
    rootfs = {"type": "layers", "diff_ids": diffs}
    config = json.dumps({"architecture": architecture, "os": "linux", "rootfs": rootfs, "name": name}).encode()
    for content in (config, *layers):
        (folder / digest(content)[7:]).write_bytes(content)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"digest": digest(config), "size": len(config)},
        "layers": [{"digest": diff, "size": len(layer)} for diff, layer in zip(diffs, layers, strict=True)],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "sbom.json").write_text(json.dumps({"bomFormat": "CycloneDX", "name": name}))
    reference = f"stackwright.local/{name}:{tag}"
    archive.write(folder, reference, diffs[:known], folder / "image.tar")
    return BuiltImage(name, reference, folder / "image.tar", folder / "sbom.json", 1)
