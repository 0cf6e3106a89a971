"""From an empty machine with warm caches to a token: wall time of `stackwright up`, each step's, and CPU seconds.

How: `stackwright down --purge`, then `stackwright up --no-vm`, n times (3); it ends when `openstack token issue` has
printed a token. CPU seconds are those of the command and its children (wait4) and of everything it started (the
cluster's cgroup). --again adds a second call each time, which must find nothing to do. It DELETES the local cluster and
its data, so it runs only when named, and with an existing cluster only with --purge.

Sources of error: tools or images that are not cached (one uncounted run before builds them); page cache filled by that
run: the figure is valid for a machine that ran it before; other load on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.bringup import allow, down, trace, up
from bench.figure import Figure, Goal
from bench.options import Options, say


def measure(options: Options) -> Iterator[Figure]:
    allow(options)
    say("once to fill the caches")
    down()
    up()
    found, again = [], []
    for index in range(options.n or 3):
        down()
        found.append(up())
        say(f"{index + 1}: {found[-1].wall:.1f} s, {found[-1].cpu:.0f} s CPU")
        if options.again:
            again.append(up(token=False))
    note = f"slowest: {trace(found)}"
    yield Figure("up to a token, warm: wall", "s", [each.wall for each in found], Goal(most=75), note=note)
    yield Figure("up to a token, warm: CPU", "s", [each.cpu for each in found])
    for title in found[0].steps:
        seconds = [each.steps.get(title, 0.0) for each in found]
        if max(seconds) >= 0.5:
            yield Figure(f"step {title}", "s", seconds)
    if again:
        yield Figure("up again, nothing to do: wall", "s", [each.wall for each in again], Goal(most=5))
