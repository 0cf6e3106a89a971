"""What the command line asks of a bench."""

from __future__ import annotations

import sys
from dataclasses import dataclass

# In the order of the table. Those that are not quick, or that change a cluster, run only when they are named.
QUICK = ("help", "reconcile", "failover", "queue", "restart5000", "rest", "memory", "unit")
NAMED = ("up", "vm", "cold", "health", "boot", "batch", "storage", "servers", "limited")


@dataclass(frozen=True)
class Options:
    """n        how often to measure; None: each bench's own default
    objects  how many objects, or machines or volumes of a batch; None: each bench's own default
    seconds  how long to look at a cluster at rest
    again    `up`: also measure a second one that has nothing to do; `vm`: once before, to fill the caches
    purge    `up`, `vm`, `cold`, `limited`: the local cluster and its data may be thrown away
    profile  `restart5000`: file for the profile of one more run
    gib      `limited`: memory of the machine that is imitated, in GiB
    """

    n: int | None = None
    objects: int | None = None
    seconds: float = 60.0
    again: bool = False
    purge: bool = False
    profile: str = ""
    gib: float = 8.0


class BenchError(Exception):
    """The bench could not measure; the text says why."""


def say(text: str) -> None:
    """Progress, apart from the figures."""
    print(f"   … {text}", file=sys.stderr, flush=True)
