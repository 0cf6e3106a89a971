"""`stackwright images`: build, list, load and remove container images; publish complete ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from stackwright.cli import common
from stackwright.cli.images import files, registry
from stackwright.cli.images.common import Names, megabytes
from stackwright.cli.ui.output import Format, FormatOption, show, table

if TYPE_CHECKING:
    from stackwright.local.image.cache import BuiltImage

RESUME = "Built images are kept; run the same command again to continue."

app = typer.Typer(
    help="Build, list, load, push, and export container images.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def build(names: Names = None) -> None:
    """Build images whose recipe changed, and their base images.

    For example:

      stackwright images build keystone
    """
    _ensure(names)


@app.command("list", short_help="Show every image, its size, and whether it is built.")
def list_images(
    output: FormatOption = Format.TABLE,
) -> None:
    """Show every image: its reference, its size, and whether it is built.

    For example:

      stackwright images list -o json
    """
    from stackwright.local.image import images

    rows = []
    references, titles = images.references(), images.titles()
    digests = {image.title: image.descriptor.digest for image in images.published().images()}
    for name, image in images.cached().items():
        row: dict[str, object] = {"name": name, "reference": references[name], "built": image is not None}
        row["digest"] = digests.get(titles[name])
        if image:
            own = image.archive.stat().st_size
            row |= {"size": image.size, "own": own, "archive": str(image.archive), "sbom": str(image.sbom)}
        rows.append(row)
    show(output, rows, lambda: _table(rows))


def _table(rows: list[dict[str, object]]) -> str:
    lines: list[tuple[str, ...]] = [("NAME", "REFERENCE", "SIZE", "OWN LAYERS", "BUILT")]
    for row in rows:
        sizes = [megabytes(int(str(row[key]))) if key in row else "" for key in ("size", "own")]
        lines.append((str(row["name"]), str(row["reference"]), *sizes, "yes" if row["built"] else "no"))
    return table(lines)


@app.command(short_help="Build images and load them into the local nodes.")
def load(names: Names = None) -> None:
    """Build images and load them into all running nodes of the local cluster.

    For example:

      stackwright images load keystone
    """
    from stackwright.cli.failures import exit_on_local_error
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
    with exit_on_local_error(RESUME), progress()(f"Load images into {len(nodes)} nodes"):
        loaded = store.load(for_nodes(images), nodes, cluster)
    common.echo("\n".join(loaded) or "All nodes already have these images.")


app.command(short_help="Push images and charts to a registry.")(registry.push)
app.command(short_help="Show which images and charts a registry has.")(registry.verify)
app.command(short_help="Write images to a file, for a site without Internet.")(files.export)
app.command("import", short_help="Read images from such a file, to push them.")(files.import_)


@app.command()
def prune() -> None:
    """Remove built and complete images without a recipe.

    For example:

      stackwright images prune
    """
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.local.image import images

    with exit_on_local_error():
        removed = images.prune()
    common.echo("\n".join(removed) or "Nothing to remove.")


def _ensure(names: list[str] | None) -> list[BuiltImage]:
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.cli.ui.progress import progress
    from stackwright.local.image import images

    with exit_on_local_error(RESUME), progress()("Build images") as report:
        return images.ensure_all(report, names or None)
