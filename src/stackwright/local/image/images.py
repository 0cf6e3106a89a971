"""The images of the local cluster: built from Debian packages, without a registry, each only once.

An image is identified by the digest of its recipe, so the cache shows whether it is built, and an unchanged recipe is
not built again. Missing images are built in the order of their dependencies, two in parallel.

    recipes   list of images, digests, references       build    build of one image, from recipe to archive
    inputs    inputs of a digest and a build context    buildah  the program that builds
    rootfs    the Debian that all images are based on   archive  archive of an image
    cache     cache of archives                         sbom     contents of an image
    published complete images for registries
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import TypeVar

from stackwright.local.commands import LocalError, Report, quiet
from stackwright.local.config import IMAGE_PREFIX, LocalCluster
from stackwright.local.image import recipes
from stackwright.local.image.build import Builder, SourcesChanged
from stackwright.local.image.cache import BuiltImage
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage
from stackwright.local.image.recipes import Catalogue

__all__ = [
    "BuiltImage",
    "build",
    "cached",
    "complete",
    "ensure_all",
    "for_nodes",
    "prune",
    "published",
    "references",
    "titles",
    "wanted",
]

T = TypeVar("T")
_AT_ONCE = 2
"""Package installation waits for the network half of the time; more parallel builds only compete for the disk."""
_ATTEMPTS = 3
"""Builds of an image whose sources are edited meanwhile."""


def ensure_all(report: Report | None = None, names: Iterable[str] | None = None) -> list[BuiltImage]:
    """Return the named images, or all, with their bases first; build the missing ones."""
    wanted = list(names) if names is not None else None
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(SourcesChanged):
            return _ensure(wanted, report or quiet)
    return _ensure(wanted, report or quiet)


def for_nodes(built: Iterable[BuiltImage]) -> list[BuiltImage]:
    """Return the images without artifacts, which contain a file and are not run by pods."""
    catalogue = recipes.load()
    return [image for image in built if not catalogue.recipe(image.name).artifact]


def build(name: str, report: Report | None = None) -> BuiltImage:
    """Return one image, which is built if missing."""
    return ensure_all(report, [name])[-1]


def references(prefix: str = IMAGE_PREFIX) -> dict[str, str]:
    """Return the reference of each image, built or not. Another prefix names published images."""
    builder = _builder()
    return {name: recipes.reference(name, digest, prefix) for name, digest in builder.digests.items()}


def titles() -> dict[str, str]:
    """Return the name and tag of each image."""
    builder = _builder()
    return {name: builder.title(name) for name in builder.digests}


def wanted(names: Iterable[str] | None = None, prefix: str = IMAGE_PREFIX) -> list[str]:
    """Return the references of the named images, or of all that nodes need, bases first."""
    builder = _builder()
    return [recipes.reference(name, builder.digests[name], prefix) for name in _named(builder.catalogue, names)]


def published() -> Layout:
    """Return the folder of complete images."""
    return Layout.of(LocalCluster.discover())


def cached() -> dict[str, BuiltImage | None]:
    """Return each image, or None if it is not built."""
    builder = _builder()
    return {name: builder.cache.image(name, builder.digests[name]) for name in builder.catalogue.order()}


def prune() -> list[str]:
    """Remove archives and complete images of outdated recipes. Returns the names of the removed ones."""
    builder = _builder()
    layout = Layout.of(builder.cluster)
    with layout.exclusive(quiet):
        complete = layout.prune(builder.title(name) for name in builder.digests)
    with builder.cache.exclusive(quiet):
        removed = builder.cache.prune(builder.digests)
        if removed:
            builder.buildah.remove_all_but(builder.reference(name) for name in builder.digests)
    return sorted({*removed, *(title.replace(":", "-") for title in complete)})


def complete(names: Iterable[str] | None = None, report: Report = quiet) -> list[CompleteImage]:
    """Return the named images, or all that nodes need, from the layout; build and compress the missing ones."""
    builder = _builder()
    layout = Layout.of(builder.cluster)
    titles = {name: builder.title(name) for name in _named(builder.catalogue, names)}
    present = {image.title for image in layout.images()}
    if missing := [name for name, title in titles.items() if title not in present]:
        built = ensure_all(report, missing)
        layout.add(built, report)
        titles |= {image.name: image.title for image in built if image.name in titles}  # sources may have changed
    return [_kept(name, layout.image(title)) for name, title in titles.items()]


def _ensure(names: list[str] | None, report: Report) -> list[BuiltImage]:
    builder = _builder()
    wanted = builder.catalogue.closure(names if names is not None else list(builder.catalogue.images))
    if _missing(builder, wanted):
        with builder.cache.exclusive(report):
            missing = _missing(builder, wanted)  # another process may have built some
            if missing:
                recipes.check_architecture(missing[0])
                builder.buildah.prepare()
                _build_in_order(builder, missing, report)
    return [_kept(name, builder.cache.image(name, builder.digests[name])) for name in wanted]


def _named(catalogue: Catalogue, names: Iterable[str] | None) -> list[str]:
    """The given names, or those of all images that nodes need, bases first. Raises LocalError for unknown names."""
    named = set(names or (name for name, recipe in catalogue.images.items() if not recipe.artifact))
    return [name for name in catalogue.closure(list(named)) if name in named]


def _kept(name: str, image: T | None) -> T:
    if image is None:
        raise LocalError(f"Image {name} was removed by another process. Run the same command again.")
    return image


def _builder() -> Builder:
    catalogue = recipes.load()
    return Builder(LocalCluster.discover(), catalogue, recipes.digests(catalogue))


def _missing(builder: Builder, names: list[str]) -> list[str]:
    return [name for name in names if builder.cache.meta(name, builder.digests[name]) is None]


def _build_in_order(builder: Builder, missing: list[str], report: Report) -> None:
    """Build each image as soon as its base is built; those with the most dependents first."""
    graph = builder.catalogue.graph()
    sorter = TopologicalSorter({name: [base for base in graph[name] if base in missing] for name in missing})
    sorter.prepare()
    running: dict[Future[None], str] = {}
    ready: list[str] = []
    count = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while sorter.is_active():
            ready = sorted([*ready, *sorter.get_ready()], key=builder.catalogue.waiting_for)
            while ready and len(running) < _AT_ONCE:
                name = ready.pop()
                running[pool.submit(builder.build, name)] = name
            report(f"building {' and '.join(sorted(running.values()))} ({count} of {len(missing)} images built)")
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                future.result()  # raises the error of a failed build, after the running builds have ended
                sorter.done(name)
                count += 1
