"""`python -m bench`: run benches and print their figures as one table, or as JSON.

The exit code is 0 for any figures, 1 if a bench could not measure, 2 for wrong usage. Figures are never asserted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import time
import traceback
from types import ModuleType

from bench.figure import Figure
from bench.options import NAMED, QUICK, BenchError, Options, say
from bench.store import save
from bench.table import table


def module(name: str) -> ModuleType:
    """The module of a bench: it has a docstring, and measure(Options) → figures."""
    return importlib.import_module(f"bench.{name}")


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that started processes are stopped
    chosen, options, as_json, store = arguments()
    figures: list[tuple[str, Figure]] = []
    failed = []
    for name in chosen:
        say(f"{name}: {title(name)}")
        start = time.monotonic()
        found: list[Figure] = []
        try:
            for figure in module(name).measure(options):
                found.append(figure)
                say(str(figure))
            if store:
                say(f"stored in {save(name, found, time.monotonic() - start)}; `make bench-docs` tells of it")
        except BenchError as error:
            failed.append(f"{name}: {error}")
        except Exception:
            failed.append(f"{name}: {traceback.format_exc()}")
        figures += [(name, figure) for figure in found]
        say(f"{name}: took {time.monotonic() - start:.0f} s")
    if as_json:
        told = [figure.as_dict(name) for name, figure in figures]
        print(json.dumps({"figures": told, "failed": failed}, indent=2, ensure_ascii=False))
    elif figures:
        print(table(figures))
    for text in failed:
        print(f"\n✗ {text}", file=sys.stderr)
    return 1 if failed else 0


def title(name: str) -> str:
    return (module(name).__doc__ or "").split("\n", 1)[0]


def arguments() -> tuple[list[str], Options, bool, bool]:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Print figures of performance.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join((*QUICK, *NAMED))}; default: quick")
    parser.add_argument("--list", action="store_true", help="list the benches and exit")
    parser.add_argument("--all", action="store_true", help="also those that are slow or change a cluster")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--store", action="store_true", help="keep the run in bench/runs, for the page of figures")
    parser.add_argument("--n", type=int, help="how often to measure")
    parser.add_argument(
        "--objects",
        type=int,
        help="queue, restart5000: how many objects; batch: machines; storage: volumes; servers: servers",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="rest, servers: how long to look")
    parser.add_argument(
        "--again", action="store_true", help="up: also a second `up` that has nothing to do; vm: fill the caches first"
    )
    parser.add_argument(
        "--purge", action="store_true", help="up, vm, cold, limited: the local cluster may be thrown away"
    )
    parser.add_argument("--gib", type=float, default=8.0, help="limited: memory of the machine that is imitated")
    parser.add_argument("--profile", metavar="FILE", default="", help="restart5000: write a profile (pstats)")
    given = parser.parse_args()
    if given.list:
        for name in (*QUICK, *NAMED):
            print(f"{name:12} {'' if name in QUICK else '(only when named) '}{title(name)}")
        sys.exit(0)
    if unknown := set(given.names) - {*QUICK, *NAMED}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join((*QUICK, *NAMED))}")
    chosen = given.names or [*QUICK, *(NAMED if given.all else ())]
    options = Options(given.n, given.objects, given.seconds, given.again, given.purge, given.profile, given.gib)
    return chosen, options, given.output == "json", given.store


if __name__ == "__main__":
    sys.exit(main())
