"""From empty caches to a token: tools and images are built from source. Takes minutes; runs once.

How: `stackwright down --purge`, then `stackwright up --no-vm` with STACKWRIGHT_CACHE, GOCACHE and GOMODCACHE in a new
temporary directory, which is removed afterwards. The times of the steps separate tools, images and the rest. It DELETES
the local cluster and its data, so it runs only when named, and with an existing cluster only with --purge. It needs
about 30 GB below $TMPDIR (on a disk, not in memory), and package registries.

Sources of error: slow registries; Debian packages in the machine's own caches (the caches of the host are not cleared);
other load on the machine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.bringup import allow, down, trace, up
from bench.figure import Figure, Goal
from bench.options import Options
from stackwright.local.steps import builds


def measure(options: Options) -> Iterator[Figure]:
    allow(options)
    down()
    with _empty_caches() as env:
        try:
            found = up(env)
        finally:
            down(env)
    note = f"seconds: {trace([found])}"
    yield Figure("up to a token, cold: wall", "min", [found.wall / 60], Goal(most=15), note=note)
    yield Figure("up to a token, cold: CPU", "min", [found.cpu / 60])
    yield Figure(f"step {builds.TITLE}", "min", [found.steps[builds.TITLE] / 60])


@contextmanager
def _empty_caches() -> Iterator[dict[str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="bench-cold-"))
    names = {"STACKWRIGHT_CACHE": "stackwright", "GOCACHE": "go", "GOMODCACHE": "gomod", "GOTMPDIR": "gotmp"}
    places = {variable: folder / name for variable, name in names.items()}
    places["GOTMPDIR"].mkdir()
    try:
        yield {variable: str(place) for variable, place in places.items()}
    finally:
        for root, _, _ in os.walk(places["GOMODCACHE"]):
            Path(root).chmod(0o700)  # Go writes its module cache read-only
        shutil.rmtree(folder, ignore_errors=True)
