"""Faults of storage: killed or stopped processes, and keys and pools that do not match those of clients."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from storage import Storage, processes


@dataclass(frozen=True)
class Daemon:
    """A program of a component's pods.

    gives_up  requests in progress end in an error after a kill: Cinder's signal that a client may retry
    often  tested in the pack that runs first
    """

    application: str
    component: str
    program: str
    gives_up: bool = False
    often: bool = False

    def found(self, storage: Storage) -> list[int]:
        pods = storage.cloud.pods("-l", f"application={self.application},component={self.component}").values()
        pids = [pid for pod in pods for pid in processes(pod, self.program)]
        assert pids, f"there is no {self.program}"
        return pids

    def signal(self, storage: Storage, number: int) -> None:
        for pid in self.found(storage):
            os.kill(pid, number)


MONITOR = Daemon("ceph", "mon", "ceph-mon", often=True)
PROVIDE = Daemon("ceph", "provide", "provide.py")
DAEMONS = (
    MONITOR,
    Daemon("ceph", "mgr", "ceph-mgr"),
    Daemon("ceph", "osd", "ceph-osd", often=True),
    Daemon("ceph-rgw", "api", "radosgw"),
    Daemon("cinder", "volume", "cinder-volume", gives_up=True, often=True),
    Daemon("etcd", "server", "etcd"),
)


@contextmanager
def frozen(storage: Storage, daemon: Daemon) -> Iterator[None]:
    daemon.signal(storage, signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.signal(storage, signal.SIGCONT)


@contextmanager
def full_pool(storage: Storage) -> Iterator[None]:
    limit = ("ceph", "osd", "pool", "set-quota", "volumes", "max_objects")
    storage.ceph.ask(*limit, "1")
    try:
        yield
    finally:
        storage.ceph.ask(*limit, "0")


@contextmanager
def wrong_key(storage: Storage) -> Iterator[None]:
    """The provider is stopped, so the new key does not reach clients."""
    with frozen(storage, PROVIDE):
        storage.ceph.renew("glance")
        yield


@contextmanager
def missing_pool(storage: Storage) -> Iterator[None]:
    rename = ("ceph", "osd", "pool", "rename")
    with frozen(storage, PROVIDE):  # it would create a new pool
        storage.ceph.ask(*rename, "volumes", "elsewhere")
        try:
            yield
        finally:
            storage.ceph.ask(*rename, "elsewhere", "volumes")


def monitor_gone(storage: Storage) -> AbstractContextManager[None]:
    return frozen(storage, MONITOR)
