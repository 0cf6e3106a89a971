"""Command-line options of the benches."""

from __future__ import annotations

import sys
from dataclasses import dataclass

# In the order of the table. NAMED benches are slow or change a cluster, and run only when named.
QUICK = ("help", "reconcile", "failover", "queue", "restart5000", "rest", "memory", "unit")
NAMED = ("up", "vm", "cold", "health", "boot", "batch", "storage", "servers", "limited")


@dataclass(frozen=True)
class Options:
    """n        number of measurements; None: each bench's own default
    objects  number of objects, or of machines or volumes of a batch; None: each bench's own default
    seconds  observation time of a cluster at rest
    again    `up`: also measure a second run with nothing to do; `vm`: one run before, to fill the caches
    purge    `up`, `vm`, `cold`, `limited`: the local cluster and its data may be deleted
    profile  `restart5000`: file for the profile of an additional run
    gib      `limited`: memory of the simulated machine, in GiB
    """

    n: int | None = None
    objects: int | None = None
    seconds: float = 60.0
    again: bool = False
    purge: bool = False
    profile: str = ""
    gib: float = 8.0


class BenchError(Exception):
    """The bench could not measure; the message gives the cause."""


def say(text: str) -> None:
    """Prints progress on standard error."""
    print(f"   … {text}", file=sys.stderr, flush=True)
