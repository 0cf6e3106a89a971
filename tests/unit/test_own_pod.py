"""The operator ends when its own pod is being deleted, whether or not somebody signals it."""

import asyncio

import pytest

from stackwright.api.kinds import POD
from stackwright.core.ports import TerminalError, TransientError, Unreachable
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.runtime.own_pod import EVERY, until_deleted

pytestmark = pytest.mark.looptime
KEY = ("stackwright", "stackwright-1")


@pytest.fixture
def cluster():
    made = MemoryCluster(clock=FrozenClock())
    made.put(POD, {"metadata": {"namespace": KEY[0], "name": KEY[1], "finalizers": ["a/b"]}})
    return made


async def ends(cluster, seconds, key=KEY):
    task = asyncio.create_task(until_deleted(cluster, key))
    await asyncio.wait({task}, timeout=seconds)
    if task.done():
        task.result()
        return True
    task.cancel()
    return False


async def test_it_ends_soon_after_its_pod_was_evicted_and_not_before(cluster):
    task = asyncio.create_task(until_deleted(cluster, KEY))
    await asyncio.sleep(600)
    assert not task.done()
    await cluster.delete(POD, KEY)
    await asyncio.sleep(EVERY + 0.1)
    assert task.done()
    task.result()


@pytest.mark.parametrize("error", [Unreachable("no route"), TransientError("401"), TerminalError("no permission")])
async def test_a_read_that_fails_ends_nothing_and_is_repeated(cluster, error):
    get, failures = cluster.get, [error] * 20

    async def failing(kind, key):
        if failures:
            raise failures.pop()
        return await get(kind, key)

    cluster.get = failing
    await cluster.delete(POD, KEY)
    assert not await ends(cluster, 15 * EVERY)
    assert await ends(cluster, 15 * EVERY)


async def test_a_pod_that_is_not_there_ends_nothing(cluster):
    assert not await ends(cluster, 600, (KEY[0], "another"))
