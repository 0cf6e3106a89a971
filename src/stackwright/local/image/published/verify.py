"""Check images in a registry: their manifests, all their blobs, and contents that this machine knows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from stackwright.adapters.registry.client import Registry
from stackwright.adapters.registry.errors import Corrupt, TooLarge
from stackwright.adapters.registry.parallel import parallel
from stackwright.adapters.registry.reference import Image, Prefix
from stackwright.adapters.registry.session import Session
from stackwright.local.commands import LocalError, Report
from stackwright.local.image import recipes
from stackwright.local.image.published.oci import MANIFEST, CompleteImage, Manifest

_TYPES = f"{MANIFEST}, application/vnd.docker.distribution.manifest.v2+json"  # mirrors may convert images

_LONGEST = 200  # characters of a reference in an error


class State(StrEnum):
    """missing     the registry has no such tag
    incomplete  it lacks a blob
    damaged     the manifest, a layer or the configuration does not match its digest or size; no push repairs that,
                because registries keep the existing content of a digest
    differs     the content is not that of the complete image on this machine, or has another architecture
    elsewhere   an override names an image that is not below the prefix; it is not checked
    """

    OK = "ok"
    MISSING = "missing"
    INCOMPLETE = "incomplete"
    DAMAGED = "damaged"
    DIFFERS = "differs"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Verified:
    """An image in a registry. digest  of the manifest that the registry has"""

    name: str
    reference: str
    digest: str | None
    state: State

    @property
    def lacking(self) -> bool:
        return self.state not in (State.OK, State.ELSEWHERE)


@dataclass
class Verification:
    """complete  title → image, of the complete images on this machine"""

    prefix: Prefix
    session: Session
    complete: Mapping[str, CompleteImage]
    report: Report

    def run(self, references: Iterable[str]) -> list[Verified]:
        """Check images, and return one result for each, in their order.

        Raises LocalError for references that are not valid, before any request, and RegistryError.
        """
        wanted = self._parsed(references)
        found: dict[str, Verified] = {}

        def check(reference: str) -> None:
            found[reference] = self._check(reference, wanted[reference])
            self.report(f"{len(found)} of {len(wanted)} images")

        parallel(self.session, check, wanted)
        return [found[reference] for reference in wanted]

    def _parsed(self, references: Iterable[str]) -> dict[str, Image | None]:
        """Reference → its parts, or None if it is not below the prefix. Overrides may have any text."""
        found: dict[str, Image | None] = {}
        wrong: list[str] = []
        for reference in references:
            title = reference.removeprefix(f"{self.prefix}/")
            try:
                found[reference] = self.prefix.image(title) if title != reference else None
            except ValueError as rule:
                wrong.append(f"{repr(reference)[:_LONGEST]}: {rule}")
        if wrong:
            raise LocalError("\n".join(["These references of images are not valid; correct the overrides:", *wrong]))
        return found

    def _check(self, reference: str, image: Image | None) -> Verified:
        if image is None:
            return Verified(reference.partition("@")[0].partition(":")[0], reference, None, State.ELSEWHERE)
        digest, state = self._state(image, reference.removeprefix(f"{self.prefix}/"))
        return Verified(image.name, reference, digest or None, state)

    def _state(self, image: Image, title: str) -> tuple[str, State]:
        """The digest in the registry, and the state."""
        registry, repository = Registry(self.session), image.repository
        digest = ""
        try:
            answer = registry.get_manifest(repository, image.tag, _TYPES)
            if answer is None:
                return digest, State.MISSING
            digest, content = answer
            return digest, self._content(registry, repository, content, self.complete.get(title))
        except Corrupt:
            return digest, State.DAMAGED
        except TooLarge:  # larger than the manifest of any of our images
            return digest, State.DIFFERS

    def _content(self, registry: Registry, repository: str, content: bytes, known: CompleteImage | None) -> State:
        try:
            manifest = Manifest.model_validate_json(content)
        except ValidationError:  # such as an index of images for several architectures
            return State.DIFFERS
        if known and not _same(manifest, known.manifest):
            return State.DIFFERS
        sizes = {blob.digest: blob.size for blob in manifest.blobs}
        if not all(registry.has_blob(repository, blob, size) for blob, size in sizes.items()):
            return State.INCOMPLETE
        if not known and not _fits(registry.get_blob(repository, manifest.config.digest), manifest):
            return State.DIFFERS
        return State.OK


def _same(manifest: Manifest, known: Manifest) -> bool:
    """Whether the configurations are equal, and so the uncompressed layers, which other tools may have compressed."""
    return manifest.config.digest == known.config.digest and len(manifest.layers) == len(known.layers)


def _fits(content: bytes, manifest: Manifest) -> bool:
    """Whether a configuration is that of the layers of a manifest, for this architecture."""
    try:
        config = json.loads(content)
        layers = len(config["rootfs"]["diff_ids"])
        return layers == len(manifest.layers) and config["architecture"] == recipes.ARCHITECTURE
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
