"""A worker survives any exception of a library; only its cancellation ends it."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.controller import Controller
from stackwright.runtime.cluster.cache import Store
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from support.waiting import next_due


class Panic(BaseException):
    """As those of libraries in Rust."""


@pytest.mark.parametrize("raised", [SystemExit(1), Panic(), ValueError()])
async def test_an_exception_of_a_controller_requeues_its_key(raised: BaseException) -> None:
    looked = []

    async def observe(_: Any, key: Any, __: Any) -> None:
        looked.append(key)
        if key == ("", "bad"):
            raise raised

    queue: KeyedQueue[Any] = KeyedQueue()
    controller = Controller(
        name="one", role="one", kind=OpenStackDeployment.KIND, watches=(), observe=observe, decide=Mock()
    )
    loop = Runtime((controller,), Mock(), Mock(), Store(), queue)
    working = asyncio.create_task(loop.work())
    queue.add(("one", ("", "bad")))
    queue.add(("one", ("", "good")))
    await asyncio.sleep(0.05)
    assert looked[:2] == [("", "bad"), ("", "good")]
    assert not working.done()
    assert next_due(queue) is not None, "tried again"
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
