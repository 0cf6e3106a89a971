"""Build the cluster's programs and the images at the same time: one downloads while the other compiles."""

from __future__ import annotations

import threading

from stackwright.local.commands import Report
from stackwright.local.steps import images, tools
from stackwright.local.steps.context import Context

TITLE = "Build tools and images"


def done(ctx: Context) -> bool:
    return images.done(ctx)


def run(ctx: Context, report: Report) -> None:
    """Raises the error of the images at once. A build of tools that still runs ends with this process."""
    state: dict[str, str] = {}

    def part(name: str) -> Report:
        def tell(text: str) -> None:
            state[name] = text
            report("; ".join(state[each] for each in sorted(state)))

        return tell

    errors: list[BaseException] = []

    def build() -> None:
        try:
            tools.run(ctx, part("tools"))
        except BaseException as error:
            errors.append(error)
        finally:
            state.pop("tools", None)

    thread = None if tools.done(ctx) else threading.Thread(target=build, name="tools", daemon=True)
    if thread:
        thread.start()
    images.run(ctx, part("images"))
    state.pop("images", None)
    if thread:
        thread.join()
    if errors:
        raise errors[0]
