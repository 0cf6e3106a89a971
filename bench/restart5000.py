"""Cost of a restart of the operator with 5,000 up-to-date objects: CPU seconds, wall time, API writes.

How: 5,000 DatabaseAccounts with Secrets and status as the operator leaves them, on a real API server; then the operator
with all roles, as in its pod, from the start of its process. An uncounted first start lets it write the status of the
MariaDB that all accounts name. Measured are CPU seconds (imports included) until all accounts are reconciled, and until
its watches have caught up and it is at rest, and writes by the server's count. --profile FILE adds one run under
cProfile and writes the profile there.

Sources of error: objects that are not up to date (the bench fails unless each ends `unchanged` with no write). Load on
the machine changes the wall time, and the CPU seconds by up to a fifth (two hyper-threads on one core).
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench.figure import Figure, Goal
from bench.options import Options, say
from bench.queue import side, unchanged
from bench.server import api_server, seed

ROLES = "osdpl,helmbundle,health,secrets,node"


def measure(options: Options) -> Iterator[Figure]:
    count = options.objects or 5000
    with api_server() as server:
        say(f"making {count} objects")
        seed(server, count)
        words = (f"--news={2 * count}", f"--roles={ROLES}")
        side(server, "operator", count, *words)
        found = [unchanged(side(server, "operator", count, *words), count) for _ in range(options.n or 1)]
        if options.profile:
            side(server, "operator", count, *words, f"--profile={options.profile}")
    goal = Goal(most=6)
    yield Figure("CPU until all are reconciled", "s", [each["cpu_process_done"] for each in found], goal)
    yield Figure("CPU until the watches have caught up too", "s", [each["cpu_process_settled"] for each in found])
    yield Figure("wall until all are reconciled", "s", [each["wall_done"] for each in found])
    yield Figure("API writes", "writes", [each["writes"] for each in found], Goal(most=0))
    peak = [each["peak_mib"] for each in found]
    yield Figure("peak memory", "MiB", peak, note=f"{median(peak) * 1024 / count:.0f} KiB an object, all included")
