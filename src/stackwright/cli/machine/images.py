"""`stackwright images`: build, list, load, push and remove container images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.output import Format, FormatOption, dumped, table

if TYPE_CHECKING:
    from stackwright.local.image.cache import BuiltImage

RESUME = "Built images are kept; run the same command again to continue."
PUSHED = "What is built and pushed is kept; run the same command again to continue."

app = typer.Typer(
    help="Build, list, load, and push container images.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of images; default: all.")]


@app.command()
def build(names: Names = None) -> None:
    """Build images whose recipe changed, and their base images."""
    _ensure(names)


@app.command("list")
def list_images(
    output: FormatOption = Format.TABLE,
) -> None:
    """Show every image: its reference, its size, and whether it is built."""
    from stackwright.local.image import images

    rows = []
    references = images.references()
    for name, image in images.cached().items():
        row: dict[str, object] = {"name": name, "reference": references[name], "built": image is not None}
        if image:
            own = image.archive.stat().st_size
            row |= {"size": image.size, "own": own, "archive": str(image.archive), "sbom": str(image.sbom)}
        rows.append(row)
    if output is not Format.TABLE:
        common.data(dumped(rows, output))
        return
    lines: list[tuple[str, ...]] = [("NAME", "REFERENCE", "SIZE", "OWN LAYERS", "BUILT")]
    for row in rows:
        sizes = [megabytes(int(str(row[key]))) if key in row else "" for key in ("size", "own")]
        lines.append((str(row["name"]), str(row["reference"]), *sizes, "yes" if row["built"] else "no"))
    common.data(table(lines))


@app.command("import")
def import_images(names: Names = None) -> None:
    """Build images and load them into all running nodes of the local cluster."""
    from stackwright.cli.ui.errors import explained
    from stackwright.cli.ui.progress import progress
    from stackwright.local.config import LocalCluster
    from stackwright.local.image import store
    from stackwright.local.image.images import for_nodes
    from stackwright.local.steps.context import nodes_of

    images = _ensure(names)
    cluster = LocalCluster.discover()
    nodes = [node for node in nodes_of(cluster) if node.containerd_socket.exists()]
    if not nodes:
        common.echo("No node is running; `stackwright up` starts them, with these images.", err=True)
        raise typer.Exit(1)
    with explained(RESUME), progress()(f"Load images into {len(nodes)} nodes"):
        imported = store.load(for_nodes(images), nodes, cluster)
    common.echo("\n".join(imported) or "All nodes already have these images.")


@app.command()
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
    """
    from dataclasses import asdict

    from stackwright.adapters.registry import reference
    from stackwright.cli.ui.errors import explained
    from stackwright.cli.ui.progress import progress, silent
    from stackwright.local.config import LocalCluster
    from stackwright.local.image import images
    from stackwright.local.image.layout import Layout
    from stackwright.local.image.push import Push, connected

    try:
        place = reference.prefix(prefix)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="PREFIX") from None
    phase = progress() if output is Format.TABLE else silent
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


@app.command()
def prune() -> None:
    """Remove built images without a recipe."""
    from stackwright.cli.ui.errors import explained
    from stackwright.local.image import images

    with explained():
        removed = images.prune()
    common.echo("\n".join(removed) or "Nothing to remove.")


def _ensure(names: list[str] | None) -> list[BuiltImage]:
    from stackwright.cli.ui.errors import explained
    from stackwright.cli.ui.progress import progress
    from stackwright.local.image import images

    with explained(RESUME), progress()("Build images") as report:
        return images.ensure_all(report, names or None)


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
