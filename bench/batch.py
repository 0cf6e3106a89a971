"""Thirty virtual machines in one request: time until all are ACTIVE, and the number of failures.

How: in the running local cloud, in a separate project without a server quota, one `server create` request for --objects
(30) machines of 128 MB; Nova creates their ports. Their statuses are polled every two seconds. A machine in status
ERROR is a failure, and so is one that is not ACTIVE after 15 minutes; the note gives the causes. Then all are deleted.

Sources of error: hypervisors without room for so many (the scheduler counts processors and memory; the note contains
its refusals); other load on the machine. Without KVM each booting machine uses processor time that the cloud lacks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from bench.tenancy import Ground, ground

LIMIT = 900.0
PAUSE = 2.0


@dataclass
class Batch:
    """active  id → seconds until the API reported it ACTIVE;  faults  id → cause of status ERROR"""

    active: dict[str, float] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


def measure(options: Options) -> Iterator[Figure]:
    count = options.objects or 30
    with ground() as made:
        start = time.monotonic()
        made.client.compute.create_server(
            name=f"{made.name}-batch",
            image_id=made.image,
            flavor_id=made.flavor,
            networks=[{"uuid": made.network}],
            min_count=count,
            max_count=count,
        )
        answered = time.monotonic() - start
        batch = watch(made, count, start)
        gone = delete(made)
    failed = count - len(batch.active)
    if not batch.active:
        raise BenchError(f"none of {count} machines became ACTIVE: {reasons(batch, count)}")
    times = sorted(batch.active.values())
    yield Figure(f"{count} servers: the request", "s", [answered])
    yield Figure(f"{count} servers: until the last is ACTIVE", "s", [times[-1]])
    yield Figure(f"{count} servers: until each is ACTIVE", "s", times)
    yield Figure(f"{count} servers: failed", "servers", [failed], Goal(most=0), note=reasons(batch, count))
    yield Figure(f"{count} servers: all deleted", "s", [gone])


def watch(made: Ground, count: int, start: float) -> Batch:
    batch, told = Batch(), 0
    while len(batch.active) + len(batch.faults) < count and time.monotonic() - start < LIMIT:
        time.sleep(PAUSE)
        now = time.monotonic() - start
        for server in made.client.compute.servers():
            if server.status == "ACTIVE":
                batch.active.setdefault(server.id, now)
            elif server.status == "ERROR":
                fault = made.client.compute.get_server(server.id).fault or {}  # lists do not contain the fault
                batch.faults[server.id] = str(fault.get("message") or "no reason given")
        if len(batch.active) >= told + 5:
            told = len(batch.active)
            say(f"{told} of {count} ACTIVE after {now:.0f} s")
    return batch


def delete(made: Ground) -> float:
    start = time.monotonic()
    for server in made.client.compute.servers():
        made.client.compute.delete_server(server)
    while list(made.client.compute.servers()):
        if time.monotonic() - start > LIMIT:
            raise BenchError(f"servers are not deleted after {LIMIT:.0f} s")
        time.sleep(PAUSE)
    return time.monotonic() - start


def reasons(batch: Batch, count: int) -> str:
    """Each reason once, with its number of servers."""
    told = [f"{n} times {text}" for text, n in Counter(batch.faults.values()).most_common()]
    if slow := count - len(batch.active) - len(batch.faults):
        told.append(f"{slow} not ACTIVE after {LIMIT:.0f} s")
    return "; ".join(told)
