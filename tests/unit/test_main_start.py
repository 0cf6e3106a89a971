"""Objects that a start of the operator excludes from Python's garbage collection, and what ends the operator."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from stackwright import main
from stackwright.api.kinds import LEASE
from stackwright.cli.programs.operator import operator
from stackwright.core.errors import TerminalError
from stackwright.main import YOUNG, _serve
from stackwright.runtime.health import Health
from stackwright.runtime.lease.fence import WriteFence
from stackwright.runtime.lease.record import NAME
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.runtime.own_pod import end_process

KEY = ("stackwright", NAME)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Loop:
    """A runtime that loads an object, and one whose work ends at once."""

    kinds = ()

    def __init__(self) -> None:
        self.searched: list[bool] = []
        self.imported: list[Any] = [[]]

    async def load(self) -> None:
        self.searched.append(_searched(self.imported))
        self.loaded: list[Any] = [{"metadata": [index]} for index in range(100)]

    async def on_listed(self, *_: Any) -> None: ...

    def listing(self, *_: Any) -> None: ...

    def on_event(self, *_: Any) -> None: ...

    async def run(self) -> None:
        self.searched.append(_searched(self.loaded))


class Source:
    namespaces = ()

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def run(self, *_: Any) -> None: ...


class Kopf(Source):
    """A source that takes the signal, as Kopf does, and would go on for long."""

    async def run(self, *_: Any) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        self.ready.set()
        await asyncio.Event().wait()


def _searched(what: Any) -> bool:
    """Whether the search for cycles looks at an object."""
    return any(each is what for each in gc.get_objects())


async def test_imported_and_loaded_objects_are_excluded_from_garbage_collection() -> None:
    loop = Loop()
    assert _searched(loop.imported)
    await _serve(loop, Source(), Health())  # type: ignore[arg-type]
    assert loop.searched == [False, False]
    assert gc.get_threshold()[0] == YOUNG
    later: list[Any] = [[]]
    assert gc.isenabled() and _searched(later), "what comes later is"


async def test_what_reconciles_ends_at_once_when_the_process_is_asked_to_end() -> None:
    """Kopf has a handler of its own, and waits for 5 s after the signal, in which the Lease would be held."""

    class Works(Loop):
        async def run(self) -> None:
            while not source.ready.is_set():
                await asyncio.sleep(0)
            for _ in range(3):  # those that wait for the event continue
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()

    source = Kopf()
    async with asyncio.timeout(60):
        await _serve(Works(), source, Health())  # type: ignore[arg-type]


def lease_of(cluster: MemoryCluster) -> Any:
    return cluster.peek(LEASE, KEY)["spec"]  # type: ignore[index]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    """What the operator connects to, with its Lease."""
    made = MemoryCluster(clock=FrozenClock())
    made.put(LEASE, {"metadata": {"namespace": KEY[0], "name": KEY[1]}})
    monkeypatch.setattr(main, "_connect", lambda *_: made)
    for name in ("runtime", "KopfSource"):
        monkeypatch.setattr(main, name, lambda *_: None)
    monkeypatch.setattr("stackwright.runtime.logs.configure", lambda _: None)
    return made


@pytest.mark.parametrize(
    ("pod", "watches"), [("a", [("stackwright", "a"), "the process ends", "the rest ends"]), ("", ["the rest ends"])]
)
async def test_an_operator_in_a_pod_ends_with_it(
    pod: str, watches: Any, cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends for this cause only, and however long the rest takes to end. The Lease is free then."""
    watched: list[Any] = []
    serves = asyncio.Event()

    async def until_deleted(cluster: Any, key: Any) -> None:
        await serves.wait()
        watched.append(key)

    async def serve(*_: Any) -> None:
        serves.set()
        assert lease_of(cluster)["holderIdentity"]
        try:
            await asyncio.sleep(60 if pod else 0)
        finally:
            watched.append("the rest ends")

    monkeypatch.setattr(main, "until_deleted", until_deleted)
    monkeypatch.setattr(main, "_serve", serve)
    await main.operate(main.Options(pod=pod), lambda: watched.append("the process ends"))
    assert watched == watches
    assert lease_of(cluster)["holderIdentity"] == ""


async def test_an_operator_without_the_lease_reconciles_nothing_and_ends_when_asked(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(*_: Any) -> None:
        raise AssertionError("it reconciles")

    held = {"holderIdentity": "another", "leaseDurationSeconds": 15}
    cluster.put(LEASE, {"metadata": {"namespace": KEY[0], "name": KEY[1]}, "spec": held})
    monkeypatch.setattr(main, "_serve", serve)
    working = asyncio.create_task(main.operate(main.Options()))
    while not cluster.reads["get Lease"]:
        await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGTERM)
    await working
    assert not cluster.writes
    assert lease_of(cluster) == held


async def test_renewals_wait_for_no_connection_that_other_requests_use(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client has 100 of them, which slow requests of the workers may use for longer than the Lease lasts."""
    others, used = MemoryCluster(clock=FrozenClock()), list[Any]()

    async def serve(*_: Any) -> None:
        assert lease_of(cluster)["holderIdentity"]

    monkeypatch.setattr(main, "_connect", lambda _, fence=None: others if fence else cluster)
    monkeypatch.setattr(main, "runtime", lambda *given: used.append(given[0]))
    monkeypatch.setattr(main, "_serve", serve)
    async with asyncio.timeout(60):
        await main.operate(main.Options())
    assert used == [others] and not others.writes


async def test_a_write_without_the_lease_ends_the_operator_with_an_error(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from any of its tasks, in groups of the groups of workers."""

    async def serve(*_: Any) -> None:
        fences[0].lost("it was not renewed")
        async with asyncio.TaskGroup() as group:
            group.create_task(_checks(fences[0]))

    fences: list[WriteFence] = []
    monkeypatch.setattr(main, "WriteFence", lambda: fences.append(WriteFence()) or fences[0])  # type: ignore[func-returns-value]
    monkeypatch.setattr(main, "guarded", lambda _: nullcontext())
    monkeypatch.setattr(main, "_serve", serve)
    with pytest.raises(TerminalError, match="another one may write: it was not renewed"):
        await main.operate(main.Options())
    assert lease_of(cluster)["holderIdentity"], "it is not released: another operator waits until this one has ended"


async def _checks(fence: WriteFence) -> None:
    fence.check()


def test_a_holder_of_the_lease_is_a_pod_or_a_process() -> None:
    """Containers of one pod with some of the roles each share it; a restarted container continues."""
    assert main.Options(pod="a", uid="1").identity == main.Options(pod="a", uid="1", roles=("osdpl",)).identity == "a_1"
    assert main.Options().identity != main.Options().identity
    assert main.Options(pod="a", uid="1", roles=("osdpl",)).shares
    assert not any(each.shares for each in (main.Options(pod="a", uid="1"), main.Options(roles=("osdpl",))))


def test_the_program_ends_its_process_with_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    async def operate(options: Any, evicted: Any) -> None:
        given.append(evicted)

    monkeypatch.setattr(main, "operate", operate)
    operator()
    assert given == [end_process]
