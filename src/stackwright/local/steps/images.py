"""Container images, built from Debian packages; each only when its recipe changed. `local/image/images.py` does it."""

from __future__ import annotations

from stackwright.local.commands import LocalError, Report
from stackwright.local.steps.context import Context

TITLE = "Build images"
NEEDED = ("pause", "coredns")


def done(ctx: Context) -> bool:
    """Always asked: later steps need the list, and asking is cheap when nothing changed."""
    return False


def run(ctx: Context, report: Report) -> None:
    from stackwright.local.image import images

    ctx.images = list(images.for_nodes(images.ensure_all(report, NEEDED if ctx.bare else None)))
    for name in NEEDED:
        if ctx.image(name) is None:
            raise LocalError(f"There is no image recipe `{name}`; a cluster cannot start without it.")
