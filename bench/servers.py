"""500 OpenStackServers at once, on Nova's fake driver: servers a minute, calls, lag to ready, memory, a restart.

How: in the running local cloud, in a separate project. nova-computes with Nova's fake driver run beside its hypervisors
(bench/fakenova.py): Keystone, Nova, Neutron, Placement and their database are real, only the machines are not. Ports
are in a network without DHCP.

  peer         --objects / 12 servers by openstacksdk, as in scripts: eight threads, each creates a port and a server
               and polls it once a second until it is ACTIVE
  batch        --objects (500) OpenStackServers with a port each: how many a minute until the last is ready, all calls
               of OpenStack by the operator's own count, and memory (RSS) of the operator before and after. All share
               one list of ACTIVE servers, fetched twice a second while any server waits; with a slower Nova, each
               server takes more lists
  lag          from the last time that Nova's database, queried ten times a second, showed that a server was not
               ACTIVE, until a watch reports status.ready; so it is never underestimated
  at rest      calls of OpenStack in --seconds (60) while no server waits
  restart      the operator's pod is deleted; calls and writes until all servers are reconciled, and 30 s more

Sources of error: other load on the machine, because the cloud's own services do most of the work; objects of other
users, whose calls and writes are counted too. Requests without a response are not counted.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bench.fakenova import Actives, command, fake_computes, kubectl
from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from bench.polling import until
from bench.rest import OURS, PODS, memory, processes, writes
from bench.tenancy import Ground, entrance, ground
from stackwright.cli.ui.output import as_yaml
from stackwright.core.openstack.deployed.access import internal_entry, with_cloud
from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import api

SPACE = "bench-servers"
KIND = "openstackservers.infrastructure.cluster.x-k8s.io"
PATH = f"/apis/infrastructure.cluster.x-k8s.io/v1alpha1/namespaces/{SPACE}/openstackservers"
CALLS = re.compile(r"^stackwright_openstack_calls_total\{(.*)\} (\S+)$", re.MULTILINE)
SEEN = re.compile(r'^stackwright_reconciles_total\{kind="server",outcome="\w+"\} (\S+)$', re.MULTILINE)
LIMIT = 3000.0
THREADS = 8
AFTER = 30.0


class Watch:
    """Name of each object → time at which it was first reported ready, and the id of its server."""

    def __init__(self) -> None:
        columns = '{.metadata.name} {.status.ready} {.status.instanceID}{"\\n"}'
        words = ("get", KIND, "-n", SPACE, "--watch", "-o", f"jsonpath={columns}")
        self.ready: dict[str, tuple[float, str]] = {}
        self._child = subprocess.Popen(command(*words), stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._child.stdout or ():
            name, ready, id_ = [*line.split(), "", ""][:3]
            if ready == "true":
                self.ready.setdefault(name, (time.time(), id_))

    def close(self) -> None:
        self._child.kill()
        self._child.wait()


def measure(options: Options) -> Iterator[Figure]:
    count = options.objects or 500
    with ground() as made, fake_computes(made.client) as zones, namespace(made):
        network = made.client.network
        network.update_quota(made.client.current_project_id, port=-1, security_group=-1)
        made = replace(made, network=quiet_network(made))
        image = made.client.image.create_image(
            f"{made.name}-raw", data=b"0" * 1024, disk_format="raw", container_format="bare"
        )
        by_hand, asked = peer(made, str(image.id), zones, max(8, count // 12))
        _secret(made)
        yield from _batch(made, str(image.id), zones, count, by_hand, asked)
        yield from _rest(options.seconds)
        yield from _restart(count)
        start = time.monotonic()
        kubectl("delete", KIND, "-n", SPACE, "--all", "--wait=false", limit=LIMIT)
        until("deleted servers", lambda: not (api.of(LocalCluster.discover()).get(PATH) or {})["items"], LIMIT, 2)
        yield Figure(f"{count} servers: deleted", "servers/min", [count / (time.monotonic() - start) * 60])


def quiet_network(made: Ground) -> str:
    """Id of a network without DHCP: agents that record hundreds of addresses would distort the measurement."""
    network = made.client.network.create_network(name=f"{made.name}-quiet")
    made.client.network.create_subnet(
        network_id=network.id, ip_version=4, cidr="10.96.0.0/20", gateway_ip=None, enable_dhcp=False
    )
    return str(network.id)


def _batch(
    made: Ground, image: str, zones: list[str], count: int, by_hand: list[float], asked: list[float]
) -> Iterator[Figure]:
    pids = processes(api.of(LocalCluster.discover()), *PODS["operator"])
    before, size = calls(), memory(pids, "Rss")
    watch, actives = Watch(), Actives()
    try:
        start = time.time()
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda n: _apply(f"s{n:04}", made, image, zones[n % len(zones)]), range(count)))
        say(f"{count} objects after {time.time() - start:.0f} s")
        told = 0
        while len(watch.ready) < count:
            time.sleep(1)
            if time.time() - start > LIMIT:
                raise BenchError(f"{len(watch.ready)} of {count} are ready after {LIMIT:.0f} s: {_causes()}")
            if len(watch.ready) >= told + 50:
                told = len(watch.ready)
                say(f"{told} of {count} ready after {time.time() - start:.0f} s")
    finally:
        watch.close()
        actives.close()
    took = max(at for at, _ in watch.ready.values()) - start
    now = calls()
    spent, asked_for = sum(now.values()) - sum(before.values()), lists(now) - lists(before)
    lag = [at - actives.since[id_] for at, id_ in watch.ready.values() if id_ in actives.since]
    yield Figure(f"{count} servers: ready", "servers/min", [count / took * 60], None, "openstacksdk", by_hand)
    yield Figure("OpenStack calls a server", "calls", [spent / count], Goal(most=3), "openstacksdk", asked)
    yield Figure(
        "of these: lists that all share", "lists/min", [asked_for / took * 60], note="two a second, while any waits"
    )
    yield Figure("of these: all others", "calls", [(spent - asked_for) / count], note="a server")
    yield Figure("ACTIVE → ready", "s", lag, note="goal: p95 ≤ 1 s")
    grown = (memory(pids, "Rss") - size) * 1024 / count
    yield Figure("operator: memory an object", "KiB", [grown], note="grown RSS, caches and all")


def _rest(seconds: float) -> Iterator[Figure]:
    time.sleep(5)
    before = sum(calls().values())
    time.sleep(seconds)
    yield Figure("at rest: OpenStack calls", "calls/min", [(sum(calls().values()) - before) / seconds * 60])


def _restart(count: int) -> Iterator[Figure]:
    say("a restart of the operator")
    log = LocalCluster.discover().logs / "audit" / "audit.log"
    namespace_, selector = PODS["operator"]
    begin = datetime.now(UTC)
    start = time.monotonic()
    kubectl("delete", "pod", "-n", namespace_, "-l", selector, "--wait=false")
    until("all servers looked at", lambda: _quietly(reconciled) >= count, 300)
    took = time.monotonic() - start
    time.sleep(AFTER)
    found = calls()
    wrote = writes(log, begin, datetime.now(UTC), "openstackservers")[OURS]
    yield Figure(f"restart with {count}: until all were looked at", "s", [took])
    yield Figure(f"restart with {count}: writes", "writes", [wrote], Goal(most=0))
    told = ", ".join(f"{labels} {n:.0f}" for labels, n in sorted(found.items()))
    yield Figure(f"restart with {count}: lists of OpenStack", "lists", [lists(found)], note=told)


def peer(made: Ground, image: str, zones: list[str], count: int) -> tuple[list[float], list[float]]:
    """Servers a minute and calls per server of a script; its servers are deleted immediately."""
    asked = 0
    lock = threading.Lock()

    def one(n: int) -> None:
        nonlocal asked
        port = made.client.network.create_port(network_id=made.network, name=f"peer-{n}")
        body = {"image_id": image, "flavor_id": made.flavor, "networks": [{"port": port.id}]}
        zone = zones[n % len(zones)]
        server = made.client.compute.create_server(name=f"peer-{n}", availability_zone=zone, **body)
        spent = 2
        while (server := made.client.compute.get_server(server.id)).status == "BUILD":
            spent += 1
            time.sleep(1)
        if server.status != "ACTIVE":
            raise BenchError(f"a server of the peer is {server.status}: {server.fault}")
        with lock:
            asked += spent + 1

    say(f"the peer: {count} servers by openstacksdk")
    start = time.monotonic()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(one, range(count)))
    took = time.monotonic() - start
    for server in list(made.client.compute.servers()):
        made.client.compute.delete_server(server)
    until("deleted servers of the peer", lambda: not list(made.client.compute.servers()), LIMIT)
    for port in list(made.client.network.ports(network_id=made.network)):
        if port.name.startswith("peer-"):
            made.client.network.delete_port(port)
    return [count / took * 60], [asked / count]


@contextmanager
def namespace(made: Ground) -> Iterator[None]:
    """The namespace of the objects. Nova releases a server slightly after it reports the deletion, and needs the fake
    driver until then.
    """
    try:
        kubectl("create", "namespace", SPACE)
        yield
    finally:
        kubectl("delete", KIND, "-n", SPACE, "--all", "--ignore-not-found", limit=LIMIT)
        kubectl("delete", "namespace", SPACE, "--ignore-not-found")
        until("servers that Nova forgets", lambda: not list(made.client.compute.servers()), LIMIT, 2)


def _secret(made: Ground) -> None:
    """The administrator's credentials, scoped to the project."""
    entry = internal_entry(entrance(), "openstack")
    entry["auth"]["project_name"] = made.name
    data = {"clouds.yaml": as_yaml(with_cloud(None, "bench", entry))}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "clouds"}, "stringData": data}
    kubectl("apply", "-n", SPACE, "-f", "-", stdin=as_yaml(secret))


def _apply(name: str, made: Ground, image: str, zone: str) -> None:
    spec = {
        "identityRef": {"name": "clouds", "cloudName": "bench"},
        "flavorID": made.flavor,
        "image": {"id": image},
        "sshKeyName": "",
        "availabilityZone": zone,
        "ports": [{"network": {"id": made.network}}],
    }
    body = {"apiVersion": f"{KIND.partition('.')[2]}/v1alpha1", "kind": "OpenStackServer"}
    api.of(LocalCluster.discover()).apply(f"{PATH}/{name}", {**body, "metadata": {"name": name}, "spec": spec})


def metrics() -> str:
    """The operator's metrics; BenchError while it does not respond."""
    client = api.of(LocalCluster.discover())
    space, selector = PODS["operator"]
    pods = (client.get(f"/api/v1/namespaces/{space}/pods?labelSelector={selector}") or {})["items"]
    name = next((pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]), "")
    status, text = client.request("GET", f"/api/v1/namespaces/{space}/pods/{name}:9090/proxy/metrics")
    if status != 200:
        raise BenchError(f"the operator's metrics answer {status}: {text}")
    return str(text)


def calls() -> dict[str, float]:
    """OpenStack calls by method and status."""
    return {labels: float(value) for labels, value in CALLS.findall(metrics())}


def lists(found: dict[str, float]) -> float:
    return sum(n for labels, n in found.items() if 'method="GET"' in labels)


def reconciled() -> float:
    return sum(float(value) for value in SEEN.findall(metrics()))


def _quietly(read: Callable[[], float]) -> float:
    try:
        return read()
    except BenchError:  # the operator is starting
        return 0.0


def _causes() -> str:
    """Condition messages of the objects that are not ready."""
    listed: list[Any] = (api.of(LocalCluster.discover()).get(PATH) or {})["items"]
    told = {
        c["message"] for each in listed for c in each.get("status", {}).get("conditions", ()) if c["status"] != "True"
    }
    return "; ".join(sorted(told)[:5])
