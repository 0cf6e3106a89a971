"""Building one image: stage its context, let buildah build it on its base, export it, list its contents.

buildah has a storage of its own inside the cache, so that an image is built on the very layers of its base and all
archives share them. Images that nothing is built on leave that storage at once: their archive is all that is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import image_archive, image_inputs, image_sbom
from stackwright.local.commands import LocalError, run
from stackwright.local.config import LocalCluster
from stackwright.local.image_cache import ImageCache, Meta
from stackwright.local.image_recipes import Catalogue, Recipe, RootFs, reference

_SLOW = 1800  # seconds; a package mirror may be slow, but not that slow
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_DPKG_OPTIONS = (
    *(f"path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "info", "locale", "lintian", "bug", "gtk-doc")),
    "path-include=/usr/share/doc/*/copyright",  # licences ask for it
    "force-unsafe-io",  # an image is exported as a whole or not at all
)


@dataclass(frozen=True)
class Builder:
    """Builds images of one catalogue into one cache."""

    cluster: LocalCluster
    catalogue: Catalogue
    digests: dict[str, str]

    @property
    def cache(self) -> ImageCache:
        return ImageCache(self.cluster.cache / "images")

    def reference(self, name: str) -> str:
        return reference(name, self.digests[name])

    def sweep(self) -> None:
        """Remove working containers of builds that were killed."""
        for program in ("buildah", "mmdebstrap"):
            if shutil.which(program) is None:
                raise LocalError(f"{program} is not installed; images are built with it: apt-get install {program}")
        self.buildah("rm", "--all")

    def buildah(self, *arguments: str | Path) -> str:
        root = self.cluster.cache / "buildah"
        (root / "tmp").mkdir(parents=True, exist_ok=True)
        # What is mounted is true until the next boot only, so it is noted where a boot clears it.
        state = self.cluster.run.with_name(f"{self.cluster.run.name}-buildah")
        state /= hashlib.sha256(str(root).encode()).hexdigest()[:8]
        words: list[str | Path] = [
            "buildah",
            "--root",
            root / "storage",
            "--runroot",
            state,
            "--storage-driver",
            "overlay",
        ]
        return run([*words, *arguments], limit=_SLOW, env={"TMPDIR": str(root / "tmp")})

    def forget_others(self) -> None:
        """Remove from buildah's storage what is no current image."""
        current = {self.reference(name) for name in self.catalogue.images}
        stored = self.buildah("images", "--format", "{{.Name}}:{{.Tag}}").split()
        if others := [image for image in stored if image not in current]:
            self.buildah("rmi", "--force", *others)

    def build(self, name: str) -> None:
        """Build one image, whose base is in the cache, and put it there."""
        started = time.monotonic()
        recipe = self.catalogue.recipe(name)
        with self.cache.scratch(name) as scratch:
            self._stage(name, recipe, scratch / "context")
            self._run_containerfile(name, recipe, scratch)
            exported, finished = scratch / "exported", scratch / "finished"
            finished.mkdir()
            self.buildah(
                "push", "--quiet", "--disable-compression", "--format", "oci", self.reference(name), f"dir:{exported}"
            )
            layers = self._archive(name, recipe, exported, finished)
            seconds = round(time.monotonic() - started, 1)
            meta = Meta(
                name=name,
                reference=self.reference(name),
                digest=self.digests[name],
                base=recipe.base,
                layers=layers,
                seconds=seconds,
            )
            self.cache.keep(finished, meta)
        if not any(other.base == name for other in self.catalogue.images.values()):
            self.buildah("rmi", self.reference(name))

    def _stage(self, name: str, recipe: Recipe, context: Path) -> None:
        image_inputs.stage(image_inputs.images_folder() / name, context, recipe.sources)
        for tool in recipe.tools:
            image_inputs.stage_tool(tool, context, self.cluster)
        for program in recipe.go:
            image_inputs.stage_go_program(program, context, self.cluster)
        if recipe.rootfs:
            make_rootfs(recipe.rootfs, context)

    def _run_containerfile(self, name: str, recipe: Recipe, scratch: Path) -> None:
        words = [
            "--tag",
            self.reference(name),
            "--isolation",
            "chroot",
            "--network",
            "host",
            "--pull-never",
            "--format",
            "oci",
        ]
        if recipe.base:
            self._restore(recipe.base, scratch / "base")
            words += ["--build-arg", f"PARENT={self.reference(recipe.base)}"]
        for key in ("title", "version", "licenses"):
            words += ["--label", f"org.opencontainers.image.{key}={getattr(recipe, key)}"]
        if "package" in recipe.sources.values():
            words += ["--build-arg", f"VERSION={recipe.version}"]
        words += lend(recipe)
        context = scratch / "context"
        self.buildah("build", *words, "--file", context / "Containerfile", context)

    def _restore(self, name: str, scratch: Path) -> None:
        """Bring a base back into buildah's storage from the archives, if somebody emptied it."""
        wanted = self.reference(name)
        if self.buildah("images", "--quiet", "--filter", f"reference={wanted}").strip():
            return
        archives = [self.cache.folder(n, self.digests[n]) / "image.tar" for n in self.catalogue.chain(name)]
        image_archive.join(archives, scratch)
        identity = self.buildah("pull", "--quiet", f"oci:{scratch}").strip()
        self.buildah("tag", identity, wanted)
        shutil.rmtree(scratch)

    def _archive(self, name: str, recipe: Recipe, exported: Path, finished: Path) -> list[image_archive.Layer]:
        base = self.cache.meta(recipe.base, self.digests[recipe.base]) if recipe.base else None
        known = {layer.digest for layer in base.layers} if base else set()
        layers = image_archive.write(exported, self.reference(name), known, finished / "image.tar")
        inherited = []
        if base:
            text = (self.cache.folder(base.name, base.digest) / "sbom.json").read_text()
            inherited = json.loads(text)["components"]
        own = [exported / layer.digest.removeprefix("sha256:") for layer in layers if layer.digest not in known]
        contents = image_sbom.components(own, inherited)
        for tool in recipe.tools:
            contents += image_sbom.go_modules((image_inputs.tool_folder(tool) / "go.mod").read_text())
        (finished / "sbom.json").write_text(json.dumps(image_sbom.document(name, recipe.version, contents), indent=1))
        return layers


def make_rootfs(rootfs: RootFs, context: Path) -> None:
    """Let mmdebstrap make a minimal Debian; it knows the archive of the suite itself."""
    options = [f"--dpkgopt={option}" for option in _DPKG_OPTIONS]
    options += [f"--include={','.join(rootfs.include)}"] if rootfs.include else []
    options += [f"--customize-hook={context / rootfs.customize}"] if rootfs.customize else []
    options += ['--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"']
    run(["mmdebstrap", "--quiet", "--variant=minbase", *options, rootfs.suite, context / "rootfs.tar"], limit=_SLOW)


def lend(recipe: Recipe) -> list[str]:
    """Return what a build may use of this machine's set-up, and the image does not keep."""
    if "pip" not in recipe.lends:
        return []
    words = []
    if Path(_CERTIFICATES).exists():  # a network with an authority of its own
        words += ["--volume", f"{_CERTIFICATES}:{_CERTIFICATES}:ro", "--build-arg", f"PIP_CERT={_CERTIFICATES}"]
    for key in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT"):
        words += ["--build-arg", f"{key}={os.environ[key]}"] if key in os.environ else []
    return words
