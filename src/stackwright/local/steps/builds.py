"""Build the cluster's programs and the images at the same time: one downloads while the other compiles."""

from __future__ import annotations

import threading

from stackwright.local.commands import Report
from stackwright.local.steps import images, tools
from stackwright.local.steps.context import Context

TITLE = "Build tools and images"


def done(ctx: Context) -> bool:
    """Never: later steps need the list of images, which is cheap to get if nothing changed."""
    return False


def run(ctx: Context, report: Report) -> None:
    """Raises an error of the images at once: a build of tools that still runs ends with this process."""
    errors: list[BaseException] = []
    both = _Both(report)

    def build() -> None:
        try:
            tools.run(ctx, lambda text: both.tell("tools", text))
        except BaseException as error:
            errors.append(error)
        both.tell("tools", "")

    thread = threading.Thread(target=build, name="tools", daemon=True)
    if not tools.done(ctx):
        thread.start()
    images.run(ctx, lambda text: both.tell("images", text))
    both.tell("images", "")
    if thread.ident is not None:
        thread.join()
    if errors:
        raise errors[0]


class _Both:
    """One report of two threads: what each of them does."""

    def __init__(self, report: Report) -> None:
        self._report, self._lock, self._texts = report, threading.Lock(), dict[str, str]()

    def tell(self, part: str, text: str) -> None:
        with self._lock:
            self._texts[part] = text
            if shown := "; ".join(self._texts[name] for name in sorted(self._texts) if self._texts[name]):
                self._report(shown)
