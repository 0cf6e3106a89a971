"""`stackwright images`: build, list, load and remove container images."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common

if TYPE_CHECKING:
    from stackwright.local.image.cache import BuiltImage

RESUME = "Built images are kept; run the same command again to continue."

app = typer.Typer(
    help="Build, list, and load container images.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of images; default: all.")]


class Output(StrEnum):
    table = "table"
    json = "json"
    yaml = "yaml"


@app.command()
def build(names: Names = None) -> None:
    """Build images whose recipe changed, and their base images."""
    _ensure(names)


@app.command("list")
def list_images(
    output: Annotated[Output, typer.Option("-o", "--output", help="Output format.")] = Output.table,
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
    common.data(_shown(rows, output))


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


def _shown(rows: list[dict[str, object]], output: Output) -> str:
    if output is Output.json:
        import json

        return json.dumps(rows, indent=2)
    if output is Output.yaml:
        import yaml

        return str(yaml.safe_dump(rows, sort_keys=False)).rstrip()
    table: list[tuple[str, ...]] = [("NAME", "REFERENCE", "SIZE", "OWN LAYERS", "BUILT")]
    for row in rows:
        sizes = [f"{int(str(row[key])) / 1e6:.0f} MB" if key in row else "" for key in ("size", "own")]
        table.append((str(row["name"]), str(row["reference"]), *sizes, "yes" if row["built"] else "no"))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("   ".join(map(str.ljust, line, widths)).rstrip() for line in table)
