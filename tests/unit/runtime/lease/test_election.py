"""Two operators at one Lease, in simulated time: one of them writes, and another takes over when it cannot."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from looptime import new_event_loop
from structlog.testing import capture_logs

from stackwright.api.kinds import LEASE
from stackwright.core.errors import TerminalError, TransientError, Unreachable
from stackwright.runtime.lease.election import AGAIN, ATTEMPT, REFUSED, RENEW, RETRY
from stackwright.runtime.lease.fence import GRACE, LeaseLost
from stackwright.runtime.lease.record import DURATION, NAME
from stackwright.runtime.lease.siblings import Siblings
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from tests.unit.runtime.lease.operators import KEY, SPACE, Gone, Operator, installed, kill, record, start

pytestmark = pytest.mark.looptime
EARLIEST = DURATION - RETRY  # seconds after the holder was killed when another operator may take over
SOON = DURATION + 2 * RETRY  # within which it does


def test_a_holder_has_ended_before_another_one_may_write():
    assert RENEW + GRACE < DURATION


def test_no_permitted_response_time_ends_the_holder_after_a_foreign_change():
    """A renewal, the next one that conflicts, a read, and the write that renews: all after the first one was sent."""
    assert max(RETRY, ATTEMPT) + 3 * ATTEMPT < RENEW
    assert RETRY + ATTEMPT + AGAIN + ATTEMPT < RENEW, "nor does one attempt without a response"


def now():
    return asyncio.get_running_loop().time()


async def test_an_installed_lease_is_taken_at_once_and_renewed():
    cluster = installed()
    one = Operator(cluster, "pod-1_uid-1")
    (task,) = await start(one)
    first = record(cluster)
    assert one.writes
    assert first["holderIdentity"] == "pod-1_uid-1"
    assert (first["leaseDurationSeconds"], first["leaseTransitions"]) == (DURATION, 0)
    await asyncio.sleep(60)
    assert record(cluster)["acquireTime"] == first["acquireTime"] == first["renewTime"] < record(cluster)["renewTime"]
    assert not task.done()
    assert len(one.writes) == pytest.approx(61 * 2, abs=2)
    await kill(task)


async def test_a_standby_names_the_holder_and_writes_nothing():
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    (first,) = await start(one)
    with capture_logs() as logs:
        (second,) = await start(two, seconds=120)
    assert not two.writes
    assert [line["cause"] for line in logs] == [f"one holds the Lease {SPACE}/{NAME}"]
    assert two.election.waits == logs[0]["cause"]
    with pytest.raises(LeaseLost):
        two.fence.check()
    await kill(first, second)


async def test_after_a_clean_end_another_one_takes_over_at_once():
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    first.cancel()
    await asyncio.sleep(RETRY + 0.1)
    assert one.ended == "stopped"
    assert two.writes[0] - one.writes[-1] < RETRY + 0.5
    assert (record(cluster)["holderIdentity"], record(cluster)["leaseTransitions"]) == ("two", 1)
    await kill(first, second)


async def test_while_a_thread_writes_the_lease_is_not_released():
    """It cannot be interrupted. The guard ends it, and the others wait for that."""
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    one.threads = True
    first.cancel()
    await asyncio.sleep(DURATION - RETRY - 0.5)
    assert not two.writes
    assert record(cluster)["holderIdentity"] == "one"
    await asyncio.sleep(SOON)
    assert two.writes
    await kill(first, second)


async def test_a_thread_that_ends_in_time_delays_the_release_only():
    cluster = installed()
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=5)
    one.threads = True
    task.cancel()
    await asyncio.sleep(3)
    assert record(cluster)["holderIdentity"] == "one"
    one.threads = False
    await asyncio.sleep(0.5)
    assert record(cluster)["holderIdentity"] == ""
    assert not one.fence.armed


def containers(cluster, lock, count=2):
    return [Operator(cluster, "pod_uid", siblings=Siblings(lock, alone=False)) for _ in range(count)]


@pytest.mark.parametrize("pause", [0.0, 0.01, 30.0], ids=["together", "close", "apart"])
async def test_the_last_container_of_a_pod_to_end_releases_the_lease(tmp_path, pause):
    cluster = installed()
    three = containers(cluster, tmp_path / "lock", 3)
    tasks = await start(*three, seconds=60)
    assert all(each.writes for each in three) and not any(task.done() for task in tasks)
    for task in tasks[:2]:
        task.cancel()
        await asyncio.sleep(pause)
    if pause:
        assert record(cluster)["holderIdentity"] == "pod_uid"
        assert three[2].fence.left() > 0
    tasks[2].cancel()
    await asyncio.gather(*tasks)
    assert record(cluster)["holderIdentity"] == ""
    assert record(cluster)["leaseTransitions"] == 0
    assert [each.ended for each in three] == ["stopped"] * 3


async def test_a_container_that_was_killed_does_not_keep_the_last_one_from_releasing(tmp_path):
    cluster = installed()
    one, two = containers(cluster, tmp_path / "lock")
    tasks = await start(one, two, seconds=5)
    await kill(tasks[0], operators=[one])
    tasks[1].cancel()
    await asyncio.gather(*tasks)
    assert record(cluster)["holderIdentity"] == ""


async def test_the_lease_is_kept_while_a_thread_of_another_container_may_write(tmp_path):
    cluster = installed()
    one, two = containers(cluster, tmp_path / "lock")
    tasks = await start(one, two, seconds=5)
    one.threads = True
    for task in tasks:
        task.cancel()
    await asyncio.sleep(1)
    assert (tasks[0].done(), tasks[1].done()) == (False, True)
    assert record(cluster)["holderIdentity"] == "pod_uid"
    one.threads = False
    await asyncio.gather(*tasks)
    assert record(cluster)["holderIdentity"] == ""


async def test_a_container_that_starts_waits_while_the_last_one_releases(tmp_path):
    cluster = installed()
    one, two = containers(cluster, tmp_path / "lock")
    (first,) = await start(one, seconds=5)
    one.delay = 1.0
    first.cancel()
    await asyncio.sleep(0.5)  # its release is on its way
    (second,) = await start(two, seconds=0.4)
    assert not two.writes and record(cluster)["holderIdentity"] == ""
    await asyncio.sleep(5)
    assert first.done() and two.writes
    assert record(cluster)["holderIdentity"] == "pod_uid"
    await kill(second)


async def test_containers_without_a_common_file_keep_the_lease():
    cluster = installed()
    one, two = containers(cluster, None)
    tasks = await start(one, two, seconds=5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks)
    assert record(cluster)["holderIdentity"] == "pod_uid"


async def test_a_file_that_cannot_be_locked_is_named(tmp_path):
    for path, why in ((tmp_path / "missing/lock", "No such file or directory"), (tmp_path, "Is a directory")):
        siblings = Siblings(path, alone=True)
        with pytest.raises(TerminalError, match=f"--lease-lock {path}: {why}"):
            await siblings.join()
        assert not siblings.last()


@pytest.mark.parametrize("step", [-86400.0, 0.0, 86400.0], ids=["behind", "equal", "ahead"])
@pytest.mark.parametrize("kills", [30.01, 31.0, 31.99])  # the Lease is renewed at even seconds
@pytest.mark.parametrize("looks", [0.01, 1.0, 1.99])
async def test_a_killed_holder_is_replaced_after_the_duration_whatever_clocks_show(step, kills, looks):
    """Its last renewal is up to RETRY before, is seen up to RETRY after that, and expires up to RETRY before a look."""
    cluster = installed()
    one = Operator(cluster, "one", wall=1_750_000_000.0 + step)
    two = Operator(cluster, "two", offset=5e5)
    (first,) = await start(one, seconds=looks)
    (second,) = await start(two, seconds=kills - looks)
    await kill(first, operators=[one])
    killed = now()
    two.wall -= 3 * step
    await asyncio.sleep(SOON + 1)
    assert EARLIEST <= two.writes[0] - killed <= SOON
    await kill(second)


def test_the_page_names_the_times():
    page = (Path(__file__).parents[4] / "docs/explanation/reconcile.md").read_text()
    for told in (
        f"take over after {EARLIEST:g} to {SOON:g} s; a container",
        f"| the holder renews the Lease | every {RETRY:g} |",
        f"successful renewal | {RENEW:g} |",
        f"after its last write was permitted | {GRACE:g} |",
        f"**saw** it change | {DURATION:g} |",
        f"Each request has {ATTEMPT:g} s",
    ):
        assert told in page


async def test_a_restart_in_the_same_pod_waits_for_nothing():
    cluster = installed()
    (first,) = await start(one := Operator(cluster, "pod_uid"))
    await kill(first, operators=[one])
    (second,) = await start(again := Operator(cluster, "pod_uid"), seconds=0.1)
    assert again.writes
    assert record(cluster)["leaseTransitions"] == 0
    await kill(second)


@pytest.mark.parametrize("error", [Unreachable("no route"), TransientError("500"), TerminalError("403")])
async def test_a_holder_that_cannot_renew_ends_before_another_one_writes(error):
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    one.failure = error
    await asyncio.sleep(RENEW + RETRY)
    assert isinstance(one.ended, LeaseLost)
    assert str(error) in str(one.ended)
    await asyncio.sleep(SOON)
    assert one.writes[-1] < two.writes[0] - (DURATION - RENEW) + RETRY
    assert first.done() and not second.done()
    await kill(second)


async def test_a_short_outage_ends_nothing():
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    tasks = await start(one, two, seconds=30)
    one.failure = two.failure = Unreachable("no route")
    await asyncio.sleep(RENEW - RETRY - 1)
    one.failure = two.failure = None
    await asyncio.sleep(60)
    assert not any(task.done() for task in tasks)
    assert not two.writes
    await kill(*tasks)


@pytest.mark.parametrize("delay", [RETRY - 0.1, RETRY, ATTEMPT - 0.05])
async def test_a_slow_api_neither_delays_the_start_for_ever_nor_ends_the_holder(delay):
    """Each request may take ATTEMPT, also the three that follow a foreign change, at whatever moment that happens."""
    cluster = installed()
    one = Operator(cluster, "one")
    one.delay = delay
    (task,) = await start(one, seconds=2 * ATTEMPT)
    assert one.writes
    for _ in range(20):
        await cluster.patch(LEASE, KEY, {"metadata": {"annotations": {"at": str(now())}}})
        await asyncio.sleep(20.3)
    assert not task.done() and one.writes[-1] > now() - 1
    await kill(task)


async def test_a_renewal_follows_the_last_one_at_the_same_interval_whatever_a_response_takes():
    cluster = installed()
    one = Operator(cluster, "one")
    one.delay = 1.0
    (task,) = await start(one, seconds=60)
    assert cluster.writes and len(cluster.writes) == pytest.approx(60 / RETRY, abs=2)
    await kill(task)


async def test_answers_that_get_lost_end_the_holder_too():
    """Its renewals arrive, so nobody takes the Lease before it has ended."""
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    one.lost = True
    await asyncio.sleep(RENEW + 1)
    assert isinstance(one.ended, LeaseLost) and not two.writes
    await asyncio.sleep(SOON)
    assert two.writes
    await kill(first, second)


async def test_a_stopped_process_writes_nothing_when_it_continues():
    """SIGSTOP for longer than the Lease, and SIGCONT, while another one holds it."""
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    one.stopped = now() + 60
    await asyncio.sleep(90)
    assert isinstance(one.ended, Gone | LeaseLost)
    assert one.writes[-1] < 31 and two.writes[0] > 31
    assert not second.done()
    await kill(first, second)


async def test_a_process_that_was_stopped_shortly_continues():
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    first, second = await start(one, two, seconds=30)
    one.stopped = now() + RENEW - 2 * RETRY
    await asyncio.sleep(90)
    assert not first.done() and not two.writes
    await kill(first, second)


async def test_the_holder_creates_a_deleted_lease_again():
    """With the metadata by which Helm finds that it is of its release."""
    cluster = installed()
    marks = {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "a"}}
    cluster.put(LEASE, {"metadata": {"namespace": SPACE, "name": NAME, **marks}})
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    tasks = await start(one, two, seconds=30)
    cluster.remove(LEASE, KEY)
    await asyncio.sleep(60)
    assert record(cluster)["holderIdentity"] == "one"
    assert marks.items() <= cluster.peek(LEASE, KEY)["metadata"].items()
    assert not two.writes and not any(task.done() for task in tasks)
    await kill(*tasks)


async def test_a_missing_lease_is_taken_when_nobody_can_hold_it():
    """It may have been deleted a moment ago, and its holder writes until it notices."""
    cluster = MemoryCluster(clock=FrozenClock())
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=DURATION - 0.1)
    assert not one.writes
    assert "is missing, whose holder may still write" in one.election.waits
    await asyncio.sleep(RETRY)
    assert one.writes and record(cluster)["holderIdentity"] == "one"
    await kill(task)


async def test_an_emptied_record_is_no_release():
    cluster = installed()
    one, two = Operator(cluster, "one"), Operator(cluster, "two")
    tasks = await start(one, two, seconds=30)
    one.failure = Unreachable("no route")
    cluster.put(LEASE, {"metadata": {"namespace": SPACE, "name": NAME}})
    await asyncio.sleep(DURATION - RETRY - 0.5)
    assert not two.writes and tasks[0].done()
    await asyncio.sleep(SOON)
    assert two.writes
    await kill(*tasks)


async def test_whoever_takes_the_lease_by_force_ends_the_holder_at_once():
    cluster = installed()
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=30)
    lease = cluster.peek(LEASE, KEY)
    cluster.put(LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}})
    await asyncio.sleep(RETRY + 0.1)
    assert task.done() and "somebody has taken the Lease" in str(one.ended)
    assert one.fence.left() <= 0


async def test_an_operator_that_ends_does_not_release_the_lease_of_another_one():
    """It was taken since the last renewal."""
    cluster = installed()
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=30)
    lease = cluster.peek(LEASE, KEY)
    cluster.put(LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}})
    task.cancel()
    await asyncio.sleep(0.5)
    assert one.ended == "stopped" and not one.fence.armed
    assert record(cluster)["holderIdentity"] == "somebody"


async def test_a_foreign_change_of_its_metadata_does_not_prevent_the_release():
    cluster = installed()
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=30)
    await cluster.patch(LEASE, KEY, {"metadata": {"annotations": {"a/b": "c"}}})
    task.cancel()
    await asyncio.sleep(0.5)
    assert record(cluster)["holderIdentity"] == ""


async def test_a_foreign_change_of_its_metadata_ends_nothing():
    cluster = installed()
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=30)
    await cluster.patch(LEASE, KEY, {"metadata": {"annotations": {"a/b": "c"}}})
    await asyncio.sleep(60)
    assert not task.done() and one.writes[-1] > 89
    await kill(task)


async def test_without_the_permission_the_error_names_the_lease_and_the_remedy():
    one = Operator(installed(), "one")
    one.failure = TerminalError("get Lease: the operator lacks the RBAC permission to get leases")
    with pytest.raises(TerminalError, match=f"{SPACE}/{NAME}: get Lease: the operator lacks .*rbac.create"):
        await one.election.acquire()


async def test_an_api_server_that_starts_may_refuse_the_lease_for_a_moment():
    cluster = installed()
    one = Operator(cluster, "one")
    one.failure = TerminalError("get Lease: RBAC: role not found")
    (task,) = await start(one, seconds=REFUSED - RETRY)
    assert not task.done() and "is refused: get Lease: RBAC" in one.election.waits
    one.failure = None
    await asyncio.sleep(RETRY + 0.1)
    assert one.writes and one.election.waits == ""
    await kill(task)


@pytest.mark.parametrize("between", ["no response", "another holder"])
async def test_only_refusals_without_another_answer_between_them_end_the_start(between):
    cluster = installed()
    one, refusal = Operator(cluster, "one"), TerminalError("get Lease: RBAC: role not found")
    one.failure = refusal
    (task,) = await start(one, seconds=REFUSED - RETRY)
    one.failure = Unreachable("no route") if between == "no response" else None
    held = {"holderIdentity": "other", "leaseDurationSeconds": 60}
    cluster.put(LEASE, {**cluster.peek(LEASE, KEY), "spec": held})
    await asyncio.sleep(RETRY + 0.1)
    one.failure = refusal
    await asyncio.sleep(REFUSED - RETRY)
    assert not task.done()
    await asyncio.sleep(2 * RETRY)
    assert isinstance(one.ended, TerminalError)


async def test_a_response_that_arrives_after_its_time_permits_nothing():
    """The machine was suspended meanwhile."""
    one = Operator(installed(), "one")
    patch, asleep = one.patch, [RENEW]

    async def suspended(*given):
        answer = await patch(*given)
        one.offset += asleep.pop() if asleep else 0
        return answer

    one.patch = suspended
    (task,) = await start(one, seconds=1)
    assert not one.writes and not one.fence.armed and not task.done()
    await asyncio.sleep(RETRY)
    assert one.writes
    await kill(task)


async def test_a_holder_with_a_longer_duration_is_given_its_time():
    """It may be of another version."""
    cluster = installed()
    held = {"holderIdentity": "other", "leaseDurationSeconds": 60}
    cluster.put(LEASE, {**cluster.peek(LEASE, KEY), "spec": held})
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=59.9)
    assert not one.writes
    await asyncio.sleep(RETRY + 0.2)
    assert one.writes
    await kill(task)


async def test_it_waits_for_an_api_that_is_down_for_long_and_logs_that_once():
    cluster = installed()
    one = Operator(cluster, "one")
    one.failure = Unreachable("no route")
    with capture_logs() as logs:
        (task,) = await start(one, seconds=3600)
    assert [line["cause"] for line in logs] == [f"the Lease {SPACE}/{NAME} cannot be read or written: no route"]
    one.failure = None
    await asyncio.sleep(RETRY + 0.1)
    assert one.writes and one.election.waits == ""
    await kill(task)


@pytest.mark.parametrize("seconds", [0, -5, None, "60"])
async def test_a_record_without_a_usable_duration_counts_for_the_usual_one(seconds):
    cluster = installed()
    lease = cluster.peek(LEASE, KEY)
    given = {"holderIdentity": "other", **({} if seconds is None else {"leaseDurationSeconds": seconds})}
    get = cluster.get

    async def read(kind, key):
        return {**(await get(kind, key)), "spec": given} if not one.fence.armed else await get(kind, key)

    cluster.get = read
    one = Operator(cluster, "one")
    (task,) = await start(one, seconds=DURATION - 0.1)
    assert lease and not one.writes
    await asyncio.sleep(RETRY + 0.2)
    assert one.writes
    await kill(task)


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2),  # which operator
        st.sampled_from(
            ["fail", "lose", "mend", "stop", "slow", "kill", "end", "new", "delete", "annotate", "step", "nothing"]
        ),
        st.floats(0.1, 20),  # seconds until the next event, also the length of a stop
    ),
    max_size=12,
)


@settings(max_examples=settings.default.max_examples // 3, deadline=None)
@example([(0, "delete", 5.0)])  # it was taken by another one since the last look
@given(EVENTS)
def test_at_no_moment_two_operators_write(events):
    """With failures, lost answers, stopped and killed processes, a deleted Lease, and clocks that are set.

    The clocks that measure (`uptime`) began at any time, but nobody sets them. After all that, an operator writes.
    """
    with asyncio.Runner(loop_factory=lambda: new_event_loop(start=0)) as runner:
        runner.run(_history(events))


async def _history(events):
    cluster, count = installed(), 3
    alive = [Operator(cluster, str(index), offset=1000.0 * index) for index in range(count)]
    everyone, tasks = [*alive], await start(*alive, seconds=0.1)
    for index, what, seconds in events:
        one = alive[index]
        match what:
            case "fail":
                one.failure = Unreachable("no route")
            case "lose":
                one.lost = True
            case "mend":
                one.failure, one.lost, one.delay = None, False, 0.0
            case "stop":
                one.stopped = now() + seconds
            case "slow":
                one.delay = seconds / 5
            case "kill":
                await kill(tasks[index], operators=[one])
            case "end":
                tasks[index].cancel()
            case "delete":
                cluster.remove(LEASE, KEY)
            case "annotate" if cluster.peek(LEASE, KEY):
                await cluster.patch(LEASE, KEY, {"metadata": {"annotations": {"at": str(now())}}})
            case "step":
                one.wall += 1000 * (seconds - 12)
            case "new" if tasks[index].done():
                alive[index] = Operator(cluster, str(len(everyone)), offset=1000.0 * seconds)
                everyone.append(alive[index])
                tasks[index] = asyncio.create_task(alive[index].run())
        await asyncio.sleep(seconds)
    for one in everyone:
        one.failure, one.lost, one.delay = None, False, 0.0
    await asyncio.sleep(20)  # the longest stop
    everyone.append(Operator(cluster, "last"))
    tasks += await start(everyone[-1], seconds=SOON + 1)
    assert any(each.writes and each.writes[-1] > now() - 1 for each in everyone), "nobody writes"
    await kill(*tasks)
    spans = sorted((each.writes[0], each.writes[-1]) for each in everyone if each.writes)
    assert all(end < begin for (_, end), (begin, _) in pairwise(spans)), spans
