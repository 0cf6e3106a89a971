"""`stackwright images export` and `import`: complete images in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.images.common import Names, megabytes, phases
from stackwright.cli.ui.output import Format, FormatOption, show, table

if TYPE_CHECKING:
    from stackwright.local.image.published.transfer import Transferred

EXPORTED = "What is built and compressed is kept; run the same command again to continue."
IMPORTED = "What is imported is kept; run the same command again to continue."


def export(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", dir_okay=False, help="The file to write; an existing regular file is replaced."),
    ],
    names: Names = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Write complete images to a file, for a site without access to this machine and to Debian's packages.

    Missing images are built and compressed. The file is a tar file with an OCI image layout, in which images share
    layers; it appears when it is complete. By default it has all images that nodes need. Charts are part of Stackwright
    itself: `images push` at the site packages them for its registry.

    For example:

      stackwright images export stackwright.tar
    """
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.local.image import images
    from stackwright.local.image.published import transfer

    phase = phases(output)
    with exit_on_local_error(EXPORTED):
        transfer.check_target(file)
        with phase("Complete images") as report:
            complete = images.complete(names, report)
        with phase(f"Write {file}") as report:
            written = transfer.export(images.published(), complete, file, report)
    _show(written, output)


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A file of `stackwright images export`.")
    ],
    output: FormatOption = Format.TABLE,
) -> None:
    """Read complete images from a file of `images export`, to push them without building them.

    The digest of each blob is verified. A file with anything else in it, or with images of another version, is
    refused, and none of its images is imported. An interrupted import continues.

    For example:

      stackwright images import stackwright.tar

      stackwright images push registry.example.org/stackwright
    """
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.local.image import images
    from stackwright.local.image.published import transfer

    with exit_on_local_error(IMPORTED), phases(output)(f"Read {file}") as report:
        layout = images.published()
        found = transfer.read(layout, file, images.titles().values(), report)
    _show(found, output, read=True)


def _show(transferred: Sequence[Transferred], output: Format, *, read: bool = False) -> None:
    from dataclasses import asdict

    hidden = set() if read else {"new"}
    rows = [{key: value for key, value in asdict(each).items() if key not in hidden} for each in transferred]
    lines = [("REFERENCE", "DIGEST", "SIZE", *(["RESULT"] if read else []))]
    lines += [
        (each.reference, each.digest, megabytes(each.size), *(["imported" if each.new else "present"] if read else []))
        for each in transferred
    ]
    show(output, rows, lambda: table(lines))
