"""Threads of adapters: fair shares, and none of them is lost."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.adapters import threads
from stackwright.adapters.threads import THREADS, Workers, in_thread, in_thread_of, seconds_left
from stackwright.core.errors import TransientError
from support.waiting import PATIENCE


async def test_namespaces_whose_calls_hang_leave_room_for_another_one() -> None:
    workers, gate = Workers(), threading.Event()
    hung = [
        asyncio.create_task(workers.call(f"hung-{number}", PATIENCE, lambda: gate.wait(PATIENCE)))
        for number in range(8)
        for _ in range(THREADS)
    ]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            assert await workers.call("other", PATIENCE, lambda: "answer") == "answer"
    finally:
        gate.set()
        for each in hung:
            each.cancel()
        await asyncio.gather(*hung, return_exceptions=True)


async def test_a_thread_is_counted_after_its_caller_left() -> None:
    workers, begun, gate = Workers(1), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        gate.wait(PATIENCE)

    call = asyncio.create_task(workers.call("a", PATIENCE, hang))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(TimeoutError):
        await workers.call("a", 0.05, lambda: None)
    gate.set()
    assert await workers.call("a", PATIENCE, lambda: "answer") == "answer"


async def test_a_slot_is_free_again_if_its_thread_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    workers = Workers(1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        for _ in range(2):
            with pytest.raises(TransientError, match="cannot start a thread"):
                await workers.call("a", PATIENCE, lambda: None)
    assert await workers.call("a", PATIENCE, lambda: "answer") == "answer"


async def test_a_call_without_a_thread_is_a_transient_error_and_is_not_made_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The executor keeps such a call in its queue."""

    def start(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    made: list[str] = []
    with ThreadPoolExecutor(1) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start)
            with pytest.raises(TransientError, match="cannot start a thread"):
                await in_thread_of(executor, lambda: made.append("first"))
            with pytest.raises(TransientError, match="cannot start a thread"):
                await in_thread(made.append, "default executor")
        await in_thread_of(executor, lambda: made.append("second"))
        await in_thread(made.append, "third")
    assert made == ["second", "third"]


async def test_a_call_that_a_thread_began_has_its_result_although_no_new_thread_could_be_started() -> None:
    class Late(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            super().submit(function, *args, **kwargs).result()
            raise RuntimeError("can't start new thread")

    with Late(1) as executor:
        assert await in_thread_of(executor, lambda: "made") == "made"


async def test_a_closed_executor_is_no_limit_of_threads() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        await in_thread_of(executor, lambda: None)


async def test_an_error_of_a_call_is_that_of_the_caller() -> None:
    def leave() -> None:
        raise SystemExit

    with pytest.raises(RuntimeError, match="a library raised SystemExit"):
        await Workers().call("a", PATIENCE, leave)


async def test_a_call_has_a_deadline() -> None:
    assert 0 < await Workers().call("a", 50.0, seconds_left) <= 50.0


async def test_the_wait_for_a_thread_is_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, workers, gate = [0.0], Workers(1), threading.Event()
    monkeypatch.setattr(threads, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    first = asyncio.create_task(workers.call("a", PATIENCE, lambda: gate.wait(PATIENCE)))
    second = asyncio.create_task(workers.call("b", PATIENCE, seconds_left))
    await asyncio.sleep(0)
    clock[0] += 1.0
    gate.set()
    assert await first and await second == PATIENCE - 1.0


async def test_a_caller_leaves_a_thread_that_ignores_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "GRACE", 0.0)
    gate = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            await Workers().call("a", 0.05, lambda: gate.wait(PATIENCE))
    finally:
        gate.set()
