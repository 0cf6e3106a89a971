"""`stackwright images push`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stackwright.cli import common
from stackwright.cli.images.common import Names, megabytes, phases
from stackwright.cli.output import Format, FormatOption, dumped, table

PUSHED = "What is built and pushed is kept; run the same command again to continue."


def push(
    prefix: Annotated[
        str, typer.Argument(metavar="PREFIX", help="Registry and prefix, such as registry.example.org/stackwright.")
    ],
    names: Names = None,
    ca: Annotated[
        Path | None,
        typer.Option("--ca", metavar="FILE", exists=True, dir_okay=False, help="CA of the registry, in PEM format."),
    ] = None,
    plain_http: Annotated[bool, typer.Option("--plain-http", help="Use HTTP instead of HTTPS.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Push complete images to a registry; build and compress the missing ones.

    What the registry has is not sent again: a second push sends nothing, and an interrupted one continues. The
    credentials are those of `podman login` or `docker login`. By default all images are pushed that nodes need.

    For example:

      stackwright images push registry.example.org/stackwright
    """
    from dataclasses import asdict

    from stackwright.adapters.registry import reference
    from stackwright.cli.ui.errors import explained
    from stackwright.local.config import LocalCluster
    from stackwright.local.image import images
    from stackwright.local.image.published.layout import Layout
    from stackwright.local.image.published.push import Push, connected

    try:
        place = reference.prefix(prefix)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="PREFIX") from None
    phase = phases(output)
    layout = Layout.of(LocalCluster.discover())
    with explained(PUSHED), connected(place, ca=ca, plain_http=plain_http) as session:
        with phase("Complete images") as report:
            complete = images.complete(names, report)
        with phase(f"Push images to {place}") as report:
            pushed = Push(layout, place, session, report).run(complete)
    if output is not Format.TABLE:
        common.data(dumped([asdict(each) for each in pushed], output))
        return
    lines = [("REFERENCE", "DIGEST", "SENT", "RESULT")]
    lines += [
        (each.reference, each.digest, megabytes(each.sent), "pushed" if each.new else "present") for each in pushed
    ]
    common.data(table(lines))
