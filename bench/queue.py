"""Cost of handling an object: our runtime against plain Kopf handlers, same objects, same API server, same run.

How: N up-to-date DatabaseAccounts on a real API server (etcd and kube-apiserver on loopback). Each side starts as its
own process and handles all of them. Measured are CPU seconds (of the process, by getrusage, after its imports) and wall
time until the last one is handled. CPU counts until the process is at rest, so it includes watches that catch up,
patches and their echoes. The sides alternate within one run:

  ours, contract   the operator with the role `secrets`, as in its pod: lists and watches 7 kinds (N accounts and N
                   Secrets), reads account, MariaDB and Secret, validates, compares digests, finds nothing to do
  ours, bare       the same runtime with one kind and a controller that only reads its object: like an empty handler
  kopf, first      on.create, on.resume, on.update with an empty body, on objects new to it: Kopf annotates each
                   object with its last handled state (as after a change of a spec, which is not measured)
  kopf, restart    the same on objects handled before: it finds its annotation, calls on.resume, writes nothing
  … status write   one status change per object: ours rewrites a status of an older generation; Kopf's handler sets one
                   field of the status

Kopf runs without Events and scanning, and without a delete handler, which would add a finalizer and one more write.

Sources of error: objects that are not up to date (checked: on our side all must end `unchanged`, with no write counted
by the server); a number so small that the constant start-up cost (about 0.15 s on our side) shows.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from bench.process import run
from bench.server import Server, api_server, forget, outdate, seed

TEN = Goal(times=10)
# (name, our side, Kopf's side). For our side, objects that Kopf never handled make no difference.
PAIRS = (
    ("first sight, bare", "bare", "first"),
    ("first sight, contract", "contract", "first"),
    ("restart, bare", "bare", "restart"),
    ("restart, contract", "contract", "restart"),
    ("one status write, contract", "contract status", "kopf status"),
)
Samples = dict[str, list[dict[str, Any]]]


def side(server: Server, who: str, objects: int, *more: str) -> dict[str, Any]:
    """Run one side; adds the number of writes that the API server counted meanwhile."""
    before = server.writes()
    argv = [sys.executable, "-m", "bench.side", who, "--kubeconfig", str(server.kubeconfig), f"--objects={objects}"]
    found: dict[str, Any] = json.loads(run([*argv, *more]).output.splitlines()[-1])
    found["writes"] = server.writes() - before
    found["per_object"] = found["cpu_settled"] / objects * 1e3
    seconds = f"{found['cpu_settled']:.2f} s CPU, {found['wall_done']:.2f} s"
    say(f"{' '.join((who, *more))}: {seconds}, {found['writes']} writes")
    return found


def measure(options: Options) -> Iterator[Figure]:
    count, times = options.objects or 1000, options.n or 3
    found: Samples = defaultdict(list)
    with api_server() as server:
        say(f"making {count} objects")
        seed(server, count)
        for _ in range(times):
            forget(server)
            found["first"].append(written(side(server, "kopf", count, "--quiet=3"), count))
            found["restart"].append(side(server, "kopf", count))
            found["contract"].append(unchanged(side(server, "operator", count, f"--news={2 * count}"), count))
            found["bare"].append(side(server, "bare", count, f"--news={count}"))
        for index in range(times):
            outdate(server)
            words = (f"--news={2 * count}", "--quiet=3")
            found["contract status"].append(written(side(server, "operator", count, *words), count))
            words = (f"--status={1000 + index}", "--quiet=3")
            found["kopf status"].append(written(side(server, "kopf", count, *words), count))
    yield from _figures(found, count)


def unchanged(found: dict[str, Any], count: int) -> dict[str, Any]:
    """Reject a sample in which our operator made changes."""
    if found["writes"] or found["outcomes"].get("database unchanged", 0) < count:
        raise BenchError(f"the objects were not up to date: {found['writes']} writes, {found['outcomes']}")
    return found


def written(found: dict[str, Any], count: int) -> dict[str, Any]:
    """Reject an incomplete sample with less than one write per object."""
    if found["writes"] < count:
        raise BenchError(f"only {found['writes']} of {count} objects were written")
    return found


def _figures(found: Samples, count: int) -> Iterator[Figure]:
    def cost(name: str) -> list[float]:
        return [sample["per_object"] for sample in found[name]]

    def rate(name: str) -> list[float]:
        return [count / sample["wall_done"] for sample in found[name]]

    def writes(name: str) -> list[float]:
        return [sample["writes"] / count for sample in found[name]]

    for what, ours, theirs in PAIRS:
        yield Figure(f"{what}: CPU an object", "ms", cost(ours), TEN, "kopf", cost(theirs))
    for what, ours, theirs in PAIRS:
        yield Figure(f"{what}: handled", "objects/s", rate(ours), None, "kopf", rate(theirs))
    for what, ours, theirs in PAIRS:
        yield Figure(f"{what}: API writes an object", "writes", writes(ours), None, "kopf", writes(theirs))
    peaks = [[sample["peak_mib"] for sample in found[name]] for name in ("contract", "restart")]
    yield Figure("peak memory, contract", "MiB", peaks[0], None, "kopf", peaks[1])
