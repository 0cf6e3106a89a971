"""The keyed queue, in simulated time."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looptime import new_event_loop

from stackwright.runtime.queue import BURST, PACE, KeyedQueue
from support.waiting import next_due

pytestmark = pytest.mark.looptime


async def test_an_item_that_is_added_often_is_worked_on_once():
    queue = KeyedQueue()
    for _ in range(5):
        queue.add("a")
    queue.add("b")
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_an_item_added_during_its_processing_is_processed_again_afterwards():
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


async def test_a_delayed_item_is_returned_when_it_is_due(looptime):
    queue = KeyedQueue()
    queue.add("later", 7)
    queue.add("sooner", 3)
    assert (await queue.get(), looptime) == ("sooner", 3)
    assert (await queue.get(), looptime) == ("later", 7)


async def test_a_delay_shorter_than_a_timer_can_wait_passes_time_all_the_same(looptime):
    """Otherwise a caller that finds a remaining wait and requests it again is returned at the same moment."""
    queue, left, looks = KeyedQueue(), 3.0, 0
    queue.add("a", left)
    while left > 0 and looks < 10:
        assert await queue.get() == "a"
        queue.done("a")
        looks += 1
        left = 3.0 + 1e-9 - float(looptime)
        if left > 0:
            queue.add("a", left)
    assert looks == 2


async def test_the_shorter_of_two_delays_counts_and_an_event_precedes_both(looptime):
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


async def test_failures_double_the_delay_up_to_the_limit_and_a_success_resets_it(looptime):
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


async def test_an_item_with_a_requested_delay_is_not_returned_earlier(looptime):
    queue = KeyedQueue(first=1, longest=10)
    assert queue.retry("a", after=30) == 30, "beyond the longest delay too"
    assert (await queue.get(), looptime) == ("a", 30)
    queue.done("a")
    assert queue.retry("a", after=0.5) == 2, "never sooner than the backoff, which goes on"


async def test_an_echo_wakes_its_item_unless_that_has_failed_which_only_an_event_brings_back_sooner(looptime):
    queue = KeyedQueue(first=8)
    queue.echo("a")
    assert (await queue.get(), looptime) == ("a", 0)
    queue.retry("a")
    queue.done("a")
    queue.echo("a")
    assert (await queue.get(), looptime) == ("a", 8)
    queue.retry("a")
    queue.done("a")
    queue.add("a")
    assert (await queue.get(), looptime) == ("a", 8)


async def test_an_echo_during_the_processing_of_its_item_waits_for_the_result(looptime):
    queue = KeyedQueue(first=8)
    queue.add("a")
    await queue.get()
    queue.echo("a")
    queue.retry("a")
    queue.done("a")
    assert (await queue.get(), looptime) == ("a", 8), "it failed"
    queue.echo("a")
    queue.forget("a")
    queue.done("a")
    assert (await queue.get(), looptime) == ("a", 8), "it succeeded, and is looked at again"
    queue.done("a")
    assert queue.idle, "once"


async def test_the_next_that_is_due_is_the_earliest_of_those_that_still_wait(looptime):
    queue = KeyedQueue()
    assert next_due(queue) is None
    queue.add("a", 20)
    queue.add("b", 5)
    queue.add("b", 50)
    assert next_due(queue) == 5
    queue.add("b")
    assert next_due(queue) == 20, "an event has brought b"
    assert await queue.get() == "b"
    assert (await queue.get(), looptime) == ("a", 20)
    assert next_due(queue) is None


async def test_an_item_may_fail_for_days():
    queue = KeyedQueue()
    assert [queue.retry("a") for _ in range(3000)][-1] == 60


async def test_the_jitter_spreads_failures():
    factors = iter([0.8, 1.2])
    queue = KeyedQueue(first=1, jitter=lambda: next(factors))
    assert [queue.retry("a"), queue.retry("b")] == [0.8, 1.2]


async def test_all_workers_get_work_and_no_two_the_same_item():
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


async def test_a_cancellation_that_coincides_with_an_item_is_not_lost():
    queue = KeyedQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("a")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(queue) == 1, "and the item is not lost"


def with_urgent(*urgent):
    queue = KeyedQueue()
    queue.urgent = urgent.__contains__
    return queue


async def test_urgent_items_are_first_and_a_reserved_worker_serves_only_them():
    queue = with_urgent("u", "v")
    for item in ("a", "u", "b", "v"):
        queue.add(item)
    assert len(queue) == 4
    assert await queue.get(urgent=True) == "u"
    assert [await queue.get() for _ in range(3)] == ["v", "a", "b"]
    queue.add("c")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await queue.get(urgent=True)
    assert await queue.get() == "c"


async def test_an_urgent_item_stays_urgent_after_a_delay_or_a_repetition(looptime):
    queue = with_urgent("u")
    queue.add("u", 5)
    assert (await queue.get(urgent=True), looptime) == ("u", 5)
    queue.add("u")
    queue.add("a")
    queue.done("u")
    assert await queue.get() == "u"


async def test_a_reserved_worker_that_sees_an_ordinary_item_become_due_leaves_it_to_the_others(looptime):
    queue = with_urgent("u")
    ordinary, reserved = asyncio.create_task(queue.get()), asyncio.create_task(queue.get(urgent=True))
    queue.add("a", 3)
    queue.add("u", 6)
    assert (await ordinary, looptime) == ("a", 3)
    assert (await reserved, looptime) == ("u", 6)


def with_shares(*urgent):
    """The share of an item is its first letter where it has two."""
    queue = with_urgent(*urgent)
    queue.share = lambda item: item[0] if len(item) == 2 else None
    return queue


async def test_items_of_a_share_are_not_for_other_workers_nor_the_other_way_round():
    queue = with_shares("u", "xx")
    for item in ("a1", "b", "u", "xx"):
        queue.add(item)
    assert [await queue.get(), await queue.get(), await queue.get()] == ["u", "xx", "b"], (
        "what is urgent is of no share"
    )
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await queue.get()
    assert await queue.get_shared(1, 64) == "a1"
    queue.add("c")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await queue.get_shared(1, 64)


async def test_pools_have_their_own_workers_and_order():
    queue = with_shares()
    queue.pool = lambda item: "numbers" if item[1].isdigit() else "letters"
    for item in ("a1", "a2", "b1", "ax", "ay"):
        queue.add(item)
    assert [await queue.get_shared(1, 8, "numbers"), await queue.get_shared(1, 8, "numbers")] == ["a1", "b1"]
    assert await queue.get_shared(1, 8, "letters") == "ax", "what share a has elsewhere does not count"
    waiting = asyncio.create_task(queue.get_shared(1, 8, "letters"))
    queue.done("a1")
    await asyncio.sleep(60)
    assert not waiting.done()
    queue.done("ax")
    assert await waiting == "ay"


async def test_shares_are_served_in_turn_within_their_limit_of_workers(looptime):
    queue = with_shares()
    for item in ("a1", "a2", "a3", "a4", "b1", "b2", "c1"):
        queue.add(item)
    assert [await queue.get_shared(2, 64) for _ in range(5)] == ["a1", "b1", "c1", "a2", "b2"]
    waiting = asyncio.create_task(queue.get_shared(2, 64))
    await asyncio.sleep(60)
    assert not waiting.done()
    assert len(queue) == 2
    queue.done("a2")
    assert (await waiting, looptime) == ("a3", 60)
    queue.add("a1")
    queue.done("a1")
    assert [await queue.get_shared(2, 64)] == ["a4"], "what comes again comes last"
    queue.done("a3")
    assert await queue.get_shared(2, 64) == "a1"


async def rounds(queue, item, number, get):
    """The times at which an item is processed that is requeued each time."""
    loop, at = asyncio.get_running_loop(), []
    queue.add(item)
    for _ in range(number):
        assert await get() == item
        at.append(loop.time())
        queue.add(item)
        queue.done(item)
    return at


async def test_only_an_item_of_a_share_that_repeats_without_end_is_delayed():
    queue = with_shares("u")

    def shared():
        return queue.get_shared(1, 64)

    at = await rounds(queue, "a1", BURST + 10, shared)
    assert at == pytest.approx([0.0] * BURST + [PACE * number for number in range(1, 11)], abs=0.1)
    assert next_due(queue) == pytest.approx(at[-1] + PACE, abs=0.1)
    queue.add("a2")
    assert await shared() == "a2", "one of the same share does not wait"
    queue.done("a2")
    await asyncio.sleep(30 * PACE)
    assert await shared() == "a1", "what was added is not lost"
    queue.done("a1")
    before = asyncio.get_running_loop().time()
    assert sum(each - before < 0.1 for each in await rounds(queue, "a1", 40, shared)) == pytest.approx(30, abs=2)
    for other in ("o", "u"):
        before = asyncio.get_running_loop().time()
        assert await rounds(queue, other, 3 * BURST, queue.get) == [before] * 3 * BURST
        assert await queue.get() == other


async def test_items_that_do_not_return_leave_no_state():
    queue = with_shares()
    for name in ("a1", "b1", "c1", "d1"):
        queue.add(name)
        queue.done(await queue.get_shared(1, 64))
        await asyncio.sleep(2 * PACE)
    assert len(queue._spent) == 1


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["a1", "a2", "a3", "b1", "o", "p", "u"]), st.sampled_from([0.0, 0.0, 0.4, 2.0])),
        max_size=25,
    )
)
def test_slow_items_of_a_share_delay_no_other_item(steps):
    """Work of share `a` takes an hour here, all other work a millisecond."""

    async def scenario():
        queue, loop = with_shares("u"), asyncio.get_running_loop()
        due, late, held = {}, [], set()

        async def work(get, free):
            while True:
                item = await get()
                assert (len(item) == 2) == free
                if item[0] != "a":
                    late.append(loop.time() - due.pop(item, loop.time()))
                    beside.append(asyncio.create_task(end(item, 0.001)))
                else:
                    held.add(item)
                    assert len(held) <= 2
                    beside.append(asyncio.create_task(end(item, 3600)))

        async def end(item, after):
            await asyncio.sleep(after)
            held.discard(item)
            queue.done(item)

        beside = []
        workers = [
            asyncio.create_task(work(queue.get, False)),
            asyncio.create_task(work(lambda: queue.get_shared(2, 64), True)),
        ]
        for item, delay in steps:
            queue.add(item, delay)
            if item[0] != "a":
                due[item] = min(due.get(item, 1e9), loop.time() + delay)
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        assert not due, "all others were worked on"
        assert max(late, default=0) < 0.01
        await asyncio.sleep(5 * 3600)
        assert queue.idle, "and those of the share after each other"
        assert not any(worker.done() for worker in workers)
        for task in (*workers, *beside):
            task.cancel()
        await asyncio.gather(*workers, *beside, return_exceptions=True)

    loop = new_event_loop()
    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()


@given(
    held=st.integers(1, 4),
    steps=st.lists(st.tuples(st.sampled_from("abcdefuv"), st.sampled_from([0.0, 0.0, 0.4, 2.0])), max_size=25),
)
def test_urgent_items_are_never_late_even_if_ordinary_workers_are_busy(held, steps):
    """Ordinary work takes an hour here, urgent work a millisecond."""

    async def scenario():
        queue, loop = with_urgent(*"uv"), asyncio.get_running_loop()
        due, late = {}, []

        async def work(urgent):
            while True:
                item = await queue.get(urgent)
                assert item in "uv" or not urgent
                if item in "uv":
                    late.append(loop.time() - due.pop(item, loop.time()))
                await asyncio.sleep(0.001 if item in "uv" else 3600)
                queue.done(item)

        workers = [asyncio.create_task(work(False)) for _ in range(held)] + [asyncio.create_task(work(True))]
        for item, delay in steps:
            queue.add(item, delay)
            if item in "uv":
                due[item] = min(due.get(item, 1e9), loop.time() + delay)
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        assert not due, "all urgent ones were worked on"
        assert max(late, default=0) < 0.01
        assert not any(worker.done() for worker in workers)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    loop = new_event_loop()
    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()


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
def test_every_added_item_is_processed_afterwards_and_never_concurrently(steps):
    async def scenario():
        queue, loop = KeyedQueue(), asyncio.get_running_loop()
        working, owed = set(), {}  # item → when it is due at the latest

        async def take():
            item = await queue.get()
            assert item not in working
            owed.pop(item, None)  # it may return once more if it was added with a delay
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
        while not queue.idle:  # what came once more, and was due at the same moment
            async with asyncio.timeout(1):
                await take()
            for item in sorted(working):
                queue.done(item)
            working.clear()

    loop = new_event_loop()
    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()


async def test_an_earlier_delay_does_not_bring_a_later_one_forward(looptime):
    """For example that of the next reconcile of an object, which an event brought forward and which then failed."""
    queue = KeyedQueue(first=60)
    queue.add("a", 5)
    queue.add("a")
    assert (await queue.get(), queue.retry("a")) == ("a", 60)
    queue.done("a")
    assert (await queue.get(), looptime) == ("a", 60)


async def test_items_with_a_requested_delay_are_spread_by_jitter():
    queue = KeyedQueue(jitter=lambda: 1.5)
    assert [queue.retry("a", after) for after in (None, 100)] == [0.75, 150]
