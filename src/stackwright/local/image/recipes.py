"""What images there are, and of what: `images/images.yaml`, read and validated.

A recipe is data. From the recipes alone come the order of building, each image's digest, and by it the reference that
charts use, so a reference is known before anything is built. The digest covers all that goes into an image: its recipe,
its context, its base's digest, and what it takes from elsewhere (tools, sources of the project).
"""

from __future__ import annotations

import functools
import hashlib
import platform
from graphlib import TopologicalSorter
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from stackwright.local.commands import LocalError
from stackwright.local.config import IMAGE_PREFIX
from stackwright.local.image import inputs
from stackwright.local.image.rootfs import RootFs

BUILDER_VERSION = 2
"""Part of every digest. Raise it when the builder makes other images of the same recipes."""


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Recipe(Model):
    """One image. Its context is the folder `images/<name>` with a Containerfile in it."""

    title: str
    version: str
    licenses: str
    user: str = Field(pattern=r"^\d+:\d+$")
    base: str | None = None
    rootfs: RootFs | None = None
    go: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    sources: dict[str, inputs.Source] = Field(default_factory=dict)
    lends: tuple[inputs.Loan, ...] = ()
    # Not part of the digest: who uses an image does not change what is in it.
    artifact: bool = Field(default=False, exclude=True)


class Catalogue(Model):
    """All recipes, each base named before the images on it."""

    refreshed: str
    images: dict[str, Recipe]

    @model_validator(mode="after")
    def _bases_are_known(self) -> Catalogue:
        unknown = {r.base for r in self.images.values() if r.base} - set(self.images)
        if unknown:
            raise ValueError(f"no such image to build on: {', '.join(sorted(unknown))}")
        self.order()  # raises CycleError, which is a ValueError
        return self

    def graph(self) -> dict[str, list[str]]:
        """Return for each image what must be built before it."""
        return {name: [recipe.base] if recipe.base else [] for name, recipe in self.images.items()}

    def order(self) -> list[str]:
        """Return all names, bases first."""
        return list(TopologicalSorter(self.graph()).static_order())

    def chain(self, name: str) -> list[str]:
        """Return the image and what it is built on, the lowest first."""
        base = self.recipe(name).base
        return [*(self.chain(base) if base else []), name]

    def waiting_for(self, name: str) -> int:
        """Return how many images are built on this one, or on one that is."""
        return sum(name in self.chain(other) for other in self.images) - 1

    def closure(self, names: list[str]) -> list[str]:
        """Return the named images and all they are built on, bases first."""
        wanted = {image for name in names for image in self.chain(name)}
        return [name for name in self.order() if name in wanted]

    def recipe(self, name: str) -> Recipe:
        try:
            return self.images[name]
        except KeyError:
            raise LocalError(f"There is no image {name!r}, only: {', '.join(self.images)}.") from None


def load(path: Path | None = None) -> Catalogue:
    """Read the recipes."""
    path = path or inputs.images_folder() / "images.yaml"
    return Catalogue.model_validate(yaml.safe_load(path.read_text()))


def digests(catalogue: Catalogue) -> dict[str, str]:
    """Return the digest of every image, from the recipes and their inputs as they are now."""
    hash_input = functools.cache(inputs.tree_digest)  # several images share a tool
    found: dict[str, str] = {}
    for name in catalogue.order():
        recipe = catalogue.images[name]
        lines = [f"builder {BUILDER_VERSION}", f"machine {platform.machine()}", f"refreshed {catalogue.refreshed}"]
        lines += [f"recipe {recipe.model_dump_json()}"]
        lines += [f"base {found[recipe.base]}"] if recipe.base else []
        lines += [f"context {hash_input(inputs.images_folder() / name)}"]
        lines += [f"tool {tool} {hash_input(inputs.tool_folder(tool))}" for tool in recipe.tools]
        lines += [
            f"source {target} {hash_input(inputs.source_path(source))}"
            for target, source in sorted(recipe.sources.items())
        ]
        found[name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return found


def reference(name: str, digest: str, prefix: str = IMAGE_PREFIX) -> str:
    """Return the name by which pods ask for an image."""
    return f"{prefix}/{name}:{digest[:12]}"
