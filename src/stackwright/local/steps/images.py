"""Build container images from Debian packages if their recipes changed, by `local/image/images.py`."""

from __future__ import annotations

from stackwright.local.commands import LocalError, Report
from stackwright.local.steps.context import Context

NEEDED = ("pause", "coredns")


def run(ctx: Context, report: Report) -> None:
    from stackwright.local.image import images

    ctx.images = list(images.for_nodes(images.ensure_all(report, NEEDED if ctx.bare else None)))
    for name in NEEDED:
        if ctx.image(name) is None:
            raise LocalError(f"The image recipe `{name}`, which every cluster requires, does not exist.")
