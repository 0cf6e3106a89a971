"""Life of one virtual machine: `server create` → ACTIVE → ping reply from its floating IP → deleted.

How: in the running local cloud, in a separate project, n times (5), one after the other. Port and floating IP are
created before. The server's status is polled every half second, and a ping is sent every tenth of a second.

  ACTIVE   from the request `server create` until the API reports ACTIVE
  ping     from the same moment until the floating IP replies: the guest has booted and has its address by DHCP
  deleted  from the request `server delete` until the API no longer finds it

One uncounted run before caches the image on the node. All created resources are removed.

Sources of error: other load on the machine, especially with an emulated processor. Polling costs the API a little and
adds up to half a second to ACTIVE and deleted, a tenth of a second to ping.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.figure import Figure
from bench.options import BenchError, Options, say
from bench.polling import until
from bench.tenancy import Ground, ground

LIMIT = 300.0


@dataclass(frozen=True)
class Trip:
    """Times in seconds."""

    active: float
    ping: float
    deleted: float


def measure(options: Options) -> Iterator[Figure]:
    with ground() as made:
        say("once, so that the node has the image")
        trip(made, "warm")
        trips = []
        for index in range(options.n or 5):
            trips.append(trip(made, str(index)))
            say(f"{index + 1}: ACTIVE {trips[-1].active:.1f} s, ping {trips[-1].ping:.1f} s")
    yield Figure("server create → ACTIVE", "s", [each.active for each in trips])
    yield Figure("server create → ping", "s", [each.ping for each in trips])
    yield Figure("server delete → gone", "s", [each.deleted for each in trips])


def trip(made: Ground, suffix: str) -> Trip:
    port = made.user.networking.port(f"{made.name}-{suffix}", made.network, made.group)
    address = made.user.networking.floating(port.id, made.external)
    compute = made.client.compute
    start = time.monotonic()
    server = compute.create_server(
        name=f"{made.name}-{suffix}", image_id=made.image, flavor_id=made.flavor, networks=[{"port": port.id}]
    ).id
    until("ACTIVE", lambda: is_active(made, server), LIMIT, 0.5)
    active = time.monotonic() - start
    until(f"an answer of {address}", lambda: made.host.ping(address), LIMIT, 0.1)
    ping = time.monotonic() - start
    start = time.monotonic()
    compute.delete_server(server)
    until("deleted", lambda: made.user.computing.server(server) is None, LIMIT, 0.5)
    deleted = time.monotonic() - start
    made.client.network.delete_port(port.id)
    return Trip(active, ping, deleted)


def is_active(made: Ground, id_: str) -> bool:
    server = made.user.computing.server(id_)
    if server is None or server.status == "ERROR":
        raise BenchError(f"the server did not start: {server.fault if server else 'it is gone'}")
    return server.status == "ACTIVE"
