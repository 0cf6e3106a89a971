"""No request to a worker is lost while pods of Nova's conductor and scheduler are replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from faults.restarts import restart
from full import FullCloud
from harness import eventually
from vms import FLAVOR, GUEST_IMAGE, Vms

TURNS = ("nova-conductor", "nova-scheduler", "nova-conductor", "nova-conductor")
UNPLACEABLE = {"name": "unplaceable", "ram": 1 << 20, "vcpus": 1, "disk": 1}  # a tebibyte of memory
UNLIMITED = {"instances": -1, "cores": -1, "ram": -1}
PREFIX = "customer-"
PAUSE = 0.2
LIMIT = 180  # a lost call ends after 60 s


class Customer:
    """Requests in the background: servers that fit on no node, and pauses of a machine.

    Nova's API sends each server to a conductor, which calls a scheduler and records that no host is valid; while the
    machine is paused, its node calls conductors several times.
    """

    def __init__(self, compute: Any, image: str) -> None:
        self._compute, self._image = compute, image
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self.pauses = 0
        self.machine = self.order("machine", compute.find_flavor(FLAVOR.name, ignore_missing=False).id)
        self._flavor = compute.create_flavor(**UNPLACEABLE).id
        self.orders: list[str] = []

    def __enter__(self) -> Customer:
        self._work = self._pool.submit(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._work.result()  # raises the error of a request

    def order(self, name: str, flavor: str) -> str:
        made = self._compute.create_server(
            name=f"{PREFIX}{name}", flavor_id=flavor, image_id=self._image, networks="none"
        )
        return str(made.id)

    def is_idle(self) -> bool:
        """Whether no request to the machine is in work. Raises RuntimeError if it failed."""
        found = self._compute.get_server(self.machine)
        if found.status == "ERROR":
            raise RuntimeError(f"the machine is in status ERROR: {found.fault}")
        return found.status in ("ACTIVE", "PAUSED") and not found.task_state

    def _run(self) -> None:
        while not self._stop.wait(PAUSE):
            self.orders.append(self.order(str(len(self.orders)), self._flavor))
            if self.is_idle():
                self._pause()

    def _pause(self) -> None:
        if self._compute.get_server(self.machine).status == "ACTIVE":
            self._compute.pause_server(self.machine)
            self.pauses += 1
        else:
            self._compute.unpause_server(self.machine)


def servers(compute: Any) -> dict[str, Any]:
    return {str(each.id): each for each in compute.servers() if str(each.name).startswith(PREFIX)}


def removed(compute: Any) -> None:
    """Also what is left of a killed run."""
    for each in servers(compute):
        compute.delete_server(each)
    eventually(lambda: servers(compute) == {}, limit=LIMIT, pause=1)
    flavor = compute.find_flavor(UNPLACEABLE["name"])
    if flavor is not None:
        compute.delete_flavor(flavor)


@pytest.fixture
def customer(full_cloud: FullCloud, vms: Vms) -> Iterator[Customer]:
    full_cloud.wait_ready()
    compute, project = vms.sdk.compute, vms.sdk.current_project_id
    removed(compute)
    compute.update_quota_set(project, **UNLIMITED)
    made = Customer(compute, vms.sdk.image.find_image(GUEST_IMAGE, ignore_missing=False).id)
    eventually(made.is_idle, limit=LIMIT, pause=1)
    yield made
    removed(compute)
    compute.revert_quota_set(project)


def log(cloud: FullCloud, pod: str, seconds: float) -> str:
    words = ("logs", pod, "-n", cloud.namespace, "--all-containers", f"--since={seconds:.0f}s")
    return cloud.kubectl(*words)


def test_no_request_is_lost_while_workers_are_replaced(full_cloud: FullCloud, vms: Vms, customer: Customer) -> None:
    workloads = {each.name: each for each in full_cloud.workloads()}
    begin = time.monotonic()
    with customer:
        for name in TURNS:
            restart(full_cloud, workloads[name])
    eventually(customer.is_idle, limit=LIMIT, pause=1)
    print(f"{len(customer.orders)} servers, {customer.pauses} pauses in {time.monotonic() - begin:.0f} s")
    assert len(customer.orders) > 10 and customer.pauses > 3

    def has_answers() -> bool:
        found = servers(vms.sdk.compute)
        return all(found[each].status == "ERROR" for each in customer.orders)

    eventually(has_answers, limit=LIMIT, pause=1)
    # A list lacks the faults of servers that no cell has.
    faults = {str(vms.sdk.compute.get_server(each).fault["message"]) for each in customer.orders}
    assert [each for each in faults if not each.startswith("No valid host was found")] == []
    pods = [pod["metadata"]["name"] for pod in full_cloud.pods("-l", "application=nova").values()]
    logs = {pod: log(full_cloud, pod, time.monotonic() - begin) for pod in pods}
    assert [pod for pod, text in logs.items() if "MessagingTimeout" in text] == []
