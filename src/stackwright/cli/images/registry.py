"""`stackwright images push` and `verify`: complete images and charts in a registry."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.common import Ca, PlainHttp
from stackwright.cli.images.common import megabytes, phases
from stackwright.cli.ui.output import Format, FormatOption, show, table

if TYPE_CHECKING:
    from stackwright.adapters.registry.reference import Prefix
    from stackwright.local.image.published.verify import Verified

PUSHED = "What is built and pushed is kept; run the same command again to continue."
PrefixArgument = Annotated[
    str, typer.Argument(metavar="PREFIX", help="Registry and prefix, such as registry.example.org/stackwright.")
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Names of images and charts, such as charts/stackwright; default: all."),
]


def push(
    prefix: PrefixArgument,
    names: Names = None,
    ca: Ca = None,
    plain_http: PlainHttp = False,
    no_sboms: Annotated[bool, typer.Option("--no-sboms", help="Push no bills of materials.")] = False,
    no_charts: Annotated[bool, typer.Option("--no-charts", help="Push no charts.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Push complete images and charts to a registry; build and compress the missing images.

    What the registry has is not sent again: a second push sends nothing, and an interrupted one continues. The
    credentials are those of `podman login` or `docker login`. By default all images are pushed that nodes need.

    Building missing images needs root, buildah and mmdebstrap.

    Each image has its bill of materials (CycloneDX) as an artifact that refers to it. The charts of the operator and
    of the volume provisioner are pushed to PREFIX/charts, for Helm; their values name the images of this registry.

    For example:

      stackwright images push registry.example.org/stackwright

      stackwright images push registry.example.org/stackwright charts/stackwright
    """
    from dataclasses import asdict

    from stackwright.cli.failures import exit_on_local_error
    from stackwright.local.image import images
    from stackwright.local.image.published.charts import Charts, split
    from stackwright.local.image.published.connection import connected
    from stackwright.local.image.published.push import Push, Pushed

    place, phase = _place(prefix), phases(output)
    layout = images.published()
    with exit_on_local_error(PUSHED), connected(place, ca=ca, plain_http=plain_http) as session:
        of_images, of_charts = split(names, charts=not no_charts)
        pushed: list[Pushed] = []
        if of_images != []:
            with phase("Complete images") as report:
                complete = images.complete(of_images, report)
            with phase(f"Push images to {place}") as report:
                pushed += Push(layout, place, session, report, sboms=not no_sboms).run(complete)
        if of_charts:
            with phase(f"Push charts to {place}") as report:
                pushed += Charts.of(of_charts, place, session, images.titles(), report).push()
    lines = [("REFERENCE", "DIGEST", "SENT", "RESULT")]
    lines += [
        (each.reference, each.digest, megabytes(each.sent), "pushed" if each.new else "present") for each in pushed
    ]
    show(output, [asdict(each) for each in pushed], lambda: table(lines))


def verify(
    prefix: PrefixArgument,
    names: Names = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", "-f", help="Clouds whose images are verified, with the operator's; - for standard input."
        ),
    ] = None,
    ca: Ca = None,
    plain_http: PlainHttp = False,
    no_charts: Annotated[bool, typer.Option("--no-charts", help="Verify no charts.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show which images and charts of this version, or images of a cloud, a registry has.

    For each image, the registry must have the manifest and all layers. If the image is complete on this machine, its
    content must be the same. A chart must have the content of this version. Nothing is built or changed.

    Exit code 0: the registry has all of them; 1: it lacks one, or cannot be read; 2: wrong usage.

    For example:

      stackwright images verify registry.example.org/stackwright

      stackwright images verify registry.example.org/stackwright -f cloud.yaml
    """
    from dataclasses import asdict

    from stackwright.cli.failures import exit_on_local_error
    from stackwright.local.image import images
    from stackwright.local.image.published.charts import Charts, split
    from stackwright.local.image.published.connection import connected
    from stackwright.local.image.published.verify import Verification

    place = _place(prefix)
    if names and file:
        raise typer.BadParameter("cannot be combined with --file", param_hint="NAME")
    with exit_on_local_error():
        of_images, of_charts = split(names, charts=not no_charts and not file)
        if file:
            references = _of_clouds(file, str(place))
        else:
            references = [] if of_images == [] else images.wanted(of_images, str(place))
        with (
            connected(place, ca=ca, plain_http=plain_http, writes=False) as session,
            phases(output)(f"Verify images of {place}") as report,
        ):
            complete = {image.title: image for image in images.published().images()}
            found = Verification(place, session, complete, report).run(references)
            if of_charts:
                found += Charts.of(of_charts, place, session, images.titles(), report).verify()
    lines = [("REFERENCE", "DIGEST", "STATE"), *((each.reference, each.digest or "", each.state) for each in found)]
    show(output, [{**asdict(each), "state": str(each.state)} for each in found], lambda: table(lines))
    if lacking := [each for each in found if each.lacking]:
        what = "images and charts" if of_charts else "images"
        text = f"{len(lacking)} of {len(found)} {what} are missing, incomplete, damaged or different."
        options = [*(["--ca", str(ca)] if ca else []), *(["--plain-http"] if plain_http else [])]
        ours = {*images.references(str(place)).values(), *(each.reference for each in found if each.name in of_charts)}
        common.echo(" ".join([text, *_remedies(lacking, place, ours, options)]), err=True)
        raise typer.Exit(1)


def _remedies(
    lacking: Sequence[Verified], place: Prefix, ours: Collection[str], options: Sequence[str]
) -> Iterator[str]:
    """Commands that repair the images. ours  references of this version; options  of the connection"""
    from shlex import join

    from stackwright.local.image.published.verify import State

    damaged = [each.reference for each in lacking if each.state is State.DAMAGED]
    pushed = [each.name for each in lacking if each.reference in ours and each.reference not in damaged]
    others = [each.reference for each in lacking if each.reference not in {*ours, *damaged}]
    if pushed:
        yield f"Push them: {join(['stackwright', 'images', 'push', *options, str(place), *pushed])}"
    if damaged:
        yield f"A push does not replace damaged content; delete these images in the registry first: {' '.join(damaged)}"
    if others:
        yield f"Not of this version, so no push brings them; correct the overrides: {' '.join(others)}"


def _place(prefix: str) -> Prefix:
    from stackwright.adapters.registry import reference

    try:
        return reference.prefix(prefix)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="PREFIX") from None


def _of_clouds(files: list[Path], prefix: str) -> list[str]:
    """References of the images that the clouds in manifests need."""
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.cloud.registry import CLOUD_KINDS
    from stackwright.local.commands import LocalError
    from stackwright.local.image import images
    from stackwright.local.image.published import needed

    kinds = [resource.KIND for resource in CLOUD_KINDS]
    try:
        clouds = [(each.kind, each.obj) for each in load_all(files, None) if each.kind in kinds]
        if not clouds:
            raise ValueError(f"contains no {' or '.join(kind.kind for kind in kinds)}")
        return needed.images(clouds, images.references(prefix))
    except (BadManifest, ValueError) as error:
        named = "" if isinstance(error, BadManifest) else f"{', '.join(map(str, files))}: "
        raise LocalError(f"{named}{error}") from None
