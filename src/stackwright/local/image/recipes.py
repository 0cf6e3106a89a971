"""Recipes of all images: `images/<name>/recipe.yaml`, read and validated.

A recipe is data. The recipes determine the build order, the digest of each image, and with it the reference in charts,
so a reference is known before its image is built. The digest covers all inputs of an image: its recipe, its context,
its base's digest, tools, and sources of the project.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from stackwright.api.services.kinds import OPENSTACK_VERSION
from stackwright.api.wording import choices
from stackwright.local.commands import LocalError
from stackwright.local.config import IMAGE_PREFIX
from stackwright.local.image import inputs
from stackwright.local.image.rootfs import RootFs

ARCHITECTURE = "amd64"
"""Architecture of all images. Digests contain the kernel's name for it, `x86_64`, on every machine."""
TESTED_ON = f"Stackwright's images are tested on {ARCHITECTURE} only."
_ARCHITECTURES = {"x86_64": ARCHITECTURE, "aarch64": "arm64"}  # by the kernel's names
TAG = 12  # digits of the digest in a tag
BUILDER_VERSION = 2
"""Part of every digest; increase it when the builder's output for the same recipes changes."""


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Recipe(Model):
    """One image. Its context is the folder of the recipe, with a Containerfile in it."""

    title: str
    version: str = OPENSTACK_VERSION
    licenses: str
    user: str = Field(pattern=r"^\d+:\d+$")
    base: str | None = None
    rootfs: RootFs | None = None
    go: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    sources: dict[str, inputs.Source] = Field(default_factory=dict)
    lends: tuple[inputs.Loan, ...] = ()
    # Not part of the digest: the use of an image does not change its content.
    artifact: bool = Field(default=False, exclude=True)


class Catalogue(Model):
    """All recipes; each base must have a recipe, and cycles are not allowed."""

    refreshed: str
    images: dict[str, Recipe]

    @model_validator(mode="after")
    def _bases_are_known(self) -> Catalogue:
        unknown = {r.base for r in self.images.values() if r.base} - set(self.images)
        if unknown:
            raise ValueError(f"unknown base image: {', '.join(sorted(unknown))}")
        self.order()  # raises CycleError, which is a ValueError
        return self

    def graph(self) -> dict[str, list[str]]:
        """Return image → images that must be built before it."""
        return {name: [recipe.base] if recipe.base else [] for name, recipe in self.images.items()}

    def order(self) -> list[str]:
        """Return all names, bases first."""
        return list(TopologicalSorter(self.graph()).static_order())

    def chain(self, name: str) -> list[str]:
        """Return the image and its bases, the lowest first."""
        base = self.recipe(name).base
        return [*(self.chain(base) if base else []), name]

    def waiting_for(self, name: str) -> int:
        """Return the number of images that are based on this one, directly or not."""
        return sum(name in self.chain(other) for other in self.images) - 1

    def closure(self, names: list[str]) -> list[str]:
        """Return the named images and all their bases, bases first."""
        wanted = {image for name in names for image in self.chain(name)}
        return [name for name in self.order() if name in wanted]

    def recipe(self, name: str) -> Recipe:
        try:
            return self.images[name]
        except KeyError:
            raise LocalError(f"Unknown image {name!r}; {choices(name, self.images)}.") from None


def load(folder: Path | None = None) -> Catalogue:
    """Read the recipes and the settings that all images share."""
    folder = folder or inputs.images_folder()
    found = {path.parent.name: yaml.safe_load(path.read_text()) for path in sorted(folder.glob(f"*/{inputs.RECIPE}"))}
    return Catalogue.model_validate({**yaml.safe_load((folder / "images.yaml").read_text()), "images": found})


def digests(catalogue: Catalogue) -> dict[str, str]:
    """Return image → digest, from the recipes and their current inputs."""
    hash_input = functools.cache(inputs.tree_digest)  # several images share a tool
    found: dict[str, str] = {}
    for name in catalogue.order():
        recipe = catalogue.images[name]
        lines = [f"builder {BUILDER_VERSION}", "machine x86_64", f"refreshed {catalogue.refreshed}"]
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


def check_architecture(name: str) -> None:
    """Raise LocalError if an image that this machine builds would have another architecture."""
    machine = platform.machine()
    built_for = _ARCHITECTURES.get(machine, machine)
    if built_for != ARCHITECTURE:
        raise LocalError(f"Image {name} would be built for {built_for}; {TESTED_ON}")


def check_tested(name: str, architecture: Any) -> None:
    """Raise LocalError for an image that was built for another architecture."""
    if architecture != ARCHITECTURE:
        raise LocalError(f"Image {name} was built for {architecture!s:.80}; {TESTED_ON}")


def title(name: str, digest: str) -> str:
    """Return the name and tag of an image."""
    return f"{name}:{digest[:TAG]}"


def reference(name: str, digest: str, prefix: str = IMAGE_PREFIX) -> str:
    """Return the image reference for pods."""
    return f"{prefix}/{title(name, digest)}"


def upgraded(references: Mapping[str, str], titles: Mapping[str, str]) -> dict[str, str]:
    """The references of another version's images, as references of `titles` in the same registries.

    titles  image → name and tag. References of another form are choices of a user, and remain. New images get the
            prefix of the others if it is the same for all. Pure.
    """
    prefixes = {
        name: found[1]
        for name, reference in references.items()
        if reference
        and name in titles
        and (found := re.fullmatch(rf"(.+/){re.escape(name)}:[0-9a-f]{{{TAG}}}", reference))
    }
    new = titles.keys() - references.keys() if len(set(prefixes.values())) == 1 else set[str]()
    prefixes |= dict.fromkeys(new, next(iter(prefixes.values()), ""))
    return {**references, **{name: prefix + titles[name] for name, prefix in prefixes.items()}}
