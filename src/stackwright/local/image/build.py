"""Build one image: stage its context, build it on its base with buildah, export it, list its contents."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.image import archive, inputs, recipes, rootfs, sbom
from stackwright.local.image.buildah import Buildah
from stackwright.local.image.cache import ImageCache, Meta
from stackwright.local.image.recipes import Catalogue, Recipe

_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PIP_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT")


class SourcesChanged(LocalError):
    """The project's files changed during the build, so the digest no longer matches the image's content."""


@dataclass(frozen=True)
class Builder:
    """Builds images of one catalogue into one cache."""

    cluster: LocalCluster
    catalogue: Catalogue
    digests: dict[str, str]

    @property
    def buildah(self) -> Buildah:
        return Buildah(self.cluster)

    @property
    def cache(self) -> ImageCache:
        return ImageCache(self.cluster.cache / "images")

    def title(self, name: str) -> str:
        return recipes.title(name, self.digests[name])

    def reference(self, name: str) -> str:
        return recipes.reference(name, self.digests[name])

    def build(self, name: str) -> None:
        """Build one image, whose base is in the cache, and store it in the cache."""
        started = time.monotonic()
        recipe, reference = self.catalogue.recipe(name), self.reference(name)
        with self.cache.scratch(name) as scratch:
            exported, finished = scratch / "exported", scratch / "finished"
            finished.mkdir()
            self._stage(name, recipe, scratch / "context")
            if recipe.base:
                self._restore(recipe.base, scratch / "base")
            self.buildah.build(scratch / "context", reference, self._options(recipe))
            self.buildah.export(reference, exported)
            base = self.cache.meta(recipe.base, self.digests[recipe.base]) if recipe.base else None
            layers = self._archive(name, base, exported, finished)
            seconds = round(time.monotonic() - started, 1)
            digest = self.digests[name]
            meta = Meta(name=name, reference=reference, digest=digest, base=recipe.base, layers=layers, seconds=seconds)
            self.cache.keep(finished, meta)
        if not self.catalogue.waiting_for(name):
            self.buildah.remove(reference)  # no other image is based on it, so the archive suffices

    def _stage(self, name: str, recipe: Recipe, context: Path) -> None:
        inputs.stage(inputs.images_folder() / name, context, recipe.sources)
        if recipes.digests(self.catalogue)[name] != self.digests[name]:
            raise SourcesChanged(f"Inputs of image {name} changed during the build. Run the build again.")
        for tool in recipe.tools:
            inputs.stage_tool(tool, context, self.cluster)
        for program in recipe.go:
            inputs.stage_go_program(program, context, self.cluster)
        if recipe.rootfs:
            rootfs.make(recipe.rootfs, context)

    def _restore(self, name: str, scratch: Path) -> None:
        """Restore a base in buildah's storage from the archives if it is missing."""
        if not self.buildah.has(self.reference(name)):
            archives = [self.cache.folder(n, self.digests[n]) / "image.tar" for n in self.catalogue.chain(name)]
            archive.join(archives, scratch)
            self.buildah.pull(scratch, self.reference(name))
            shutil.rmtree(scratch)

    def _options(self, recipe: Recipe) -> list[str]:
        options = [
            f"--label=org.opencontainers.image.{key}={getattr(recipe, key)}" for key in ("title", "version", "licenses")
        ]
        if recipe.base:
            options.append(f"--build-arg=PARENT={self.reference(recipe.base)}")
        if "package" in recipe.sources.values():
            options.append(f"--build-arg=VERSION={recipe.version}")
        return options + (pip_settings() if "pip" in recipe.lends else [])

    def _archive(self, name: str, base: Meta | None, exported: Path, finished: Path) -> list[archive.Layer]:
        known = {layer.digest for layer in base.layers} if base else set()
        layers = archive.write(exported, self.reference(name), known, finished / "image.tar")
        own = [exported / layer.digest.removeprefix("sha256:") for layer in layers if layer.digest not in known]
        inherited = []
        if base:
            document = (self.cache.folder(base.name, base.digest) / "sbom.json").read_text()
            inherited = json.loads(document)["components"]
        recipe = self.catalogue.recipe(name)
        contents = sbom.components(own, inherited)
        for tool in recipe.tools:
            contents += sbom.go_modules((inputs.tool_folder(tool) / "go.mod").read_text())
        (finished / "sbom.json").write_text(json.dumps(sbom.document(name, recipe.version, contents), indent=1))
        return layers


def pip_settings() -> list[str]:
    """Build options with this machine's access to the package index; the image does not keep them."""
    options = [f"--build-arg={key}={os.environ[key]}" for key in _PIP_SETTINGS if key in os.environ]
    if Path(_CERTIFICATES).exists():  # a network may have its own CA
        options += [f"--volume={_CERTIFICATES}:{_CERTIFICATES}:ro", f"--build-arg=PIP_CERT={_CERTIFICATES}"]
    return options
