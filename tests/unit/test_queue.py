"""The keyed queue, in simulated time."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looptime import new_event_loop

from stackwright.runtime.queue import KeyedQueue

pytestmark = pytest.mark.looptime


async def test_an_item_that_is_added_often_is_worked_on_once():
    queue = KeyedQueue()
    for _ in range(5):
        queue.add("a")
    queue.add("b")
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_an_item_that_is_added_while_it_is_worked_on_comes_again_afterwards_and_not_before():
    queue = KeyedQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await queue.get()
    assert not queue.idle
    queue.done("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert queue.idle


async def test_a_delayed_item_comes_when_it_is_due(looptime):
    queue = KeyedQueue()
    queue.add("later", 7)
    queue.add("sooner", 3)
    assert (await queue.get(), looptime) == ("sooner", 3)
    assert (await queue.get(), looptime) == ("later", 7)


async def test_of_two_delays_the_shorter_holds_and_an_event_is_sooner_than_both(looptime):
    queue = KeyedQueue()
    queue.add("a", 50)
    queue.add("a", 5)
    queue.add("a", 20)
    assert (await queue.get(), looptime) == ("a", 5)
    queue.done("a")
    queue.add("a", 50)
    queue.add("a")
    assert (await queue.get(), looptime) == ("a", 5)
    queue.done("a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(200):
            await queue.get()


async def test_a_worker_that_waits_is_woken_by_an_item_that_is_due_sooner(looptime):
    queue = KeyedQueue()
    queue.add("late", 100)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("soon", 2)
    assert (await waiting, looptime) == ("soon", 3)


async def test_failures_double_the_delay_up_to_the_limit_and_a_success_starts_anew(looptime):
    queue = KeyedQueue(first=1, longest=10)
    delays = []
    for _ in range(6):
        delays.append(queue.retry("a"))
        assert await queue.get() == "a"
        queue.done("a")
    assert delays == [1, 2, 4, 8, 10, 10]
    assert looptime == pytest.approx(35, abs=0.1)
    queue.forget("a")
    assert queue.retry("a") == 1


async def test_an_item_may_fail_for_days():
    queue = KeyedQueue()
    assert [queue.retry("a") for _ in range(3000)][-1] == 60


async def test_the_jitter_spreads_failures():
    factors = iter([0.8, 1.2])
    queue = KeyedQueue(first=1, jitter=lambda: next(factors))
    assert [queue.retry("a"), queue.retry("b")] == [0.8, 1.2]


async def test_all_workers_get_work_and_none_of_them_the_same_item():
    queue = KeyedQueue()
    working, most, done = set(), 0, []

    async def work():
        nonlocal most
        while True:
            item = await queue.get()
            assert item not in working
            working.add(item)
            most = max(most, len(working))
            await asyncio.sleep(1)
            working.discard(item)
            done.append(item)
            queue.done(item)

    workers = [asyncio.create_task(work()) for _ in range(3)]
    for _ in range(4):
        for item in range(6):
            queue.add(item)
        await asyncio.sleep(0.7)
    await asyncio.sleep(20)
    assert set(done) == set(range(6))
    assert most == 3
    assert queue.idle
    assert not any(worker.done() for worker in workers)


async def test_a_cancellation_is_not_swallowed_when_it_comes_together_with_an_item():
    queue = KeyedQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("a")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(queue) == 1, "and the item is not lost"


ITEMS = st.sampled_from("abc")
STEPS = st.lists(
    st.tuples(st.just("add"), ITEMS, st.sampled_from([0.0, 0.0, 0.5, 3.0]))
    | st.tuples(st.just("get"))
    | st.tuples(st.just("done"), ITEMS)
    | st.tuples(st.just("retry"), ITEMS)
    | st.tuples(st.just("pass"), st.sampled_from([0.1, 1.0, 5.0])),
    max_size=30,
)


@given(STEPS)
def test_whatever_happens_every_item_that_was_added_is_worked_on_after_it_was_added_and_never_twice_at_once(steps):
    async def scenario():
        queue, loop = KeyedQueue(), asyncio.get_running_loop()
        working, owed = set(), {}  # item → when it is due at the latest

        async def take():
            item = await queue.get()
            assert item not in working
            owed.pop(item, None)  # it may come once more than asked for, when it was asked for with a delay
            working.add(item)

        for step in steps:
            match step:
                case ("add", item, delay):
                    queue.add(item, delay)
                    owed[item] = min(owed.get(item, 1e9), loop.time() + delay)
                case ("retry", item) if item in working:
                    owed[item] = min(owed.get(item, 1e9), loop.time() + queue.retry(item))
                case ("done", item) if item in working:
                    working.discard(item)
                    queue.done(item)
                case ("get",) if [i for i, due in owed.items() if i not in working and due <= loop.time()]:
                    await take()
                case ("pass", seconds):
                    await asyncio.sleep(seconds)
        for item in sorted(working):
            queue.done(item)
        working.clear()
        while owed:
            async with asyncio.timeout(max(owed.values()) - loop.time() + 1):
                await take()
            for item in sorted(working):
                queue.done(item)
            working.clear()
        assert queue.idle

    loop = new_event_loop()
    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()
