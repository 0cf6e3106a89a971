"""The operator ends when its own pod is being deleted, whether or not somebody signals it."""

import asyncio
import json
import subprocess
import sys
from itertools import pairwise

import httpx2
import pytest
from structlog.testing import capture_logs

from stackwright.api.kinds import POD
from stackwright.core.errors import TerminalError, TransientError, Unreachable
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.runtime.own_pod import EVERY, until_deleted
from support.empty_api import Server

pytestmark = pytest.mark.looptime
KEY = ("stackwright", "stackwright-1")
ABSENT, HANGS = "absent", "hangs"  # outcomes of a read


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


def read_as(cluster, *outcomes):
    """Each read has one of these outcomes in turn, or that of the cluster if it is None, as all later reads have.

    Returns the times at which reads begin.
    """
    get, left, began = cluster.get, [*outcomes], []

    async def read(kind, key):
        began.append(asyncio.get_running_loop().time())
        outcome = left.pop(0) if left else None
        if isinstance(outcome, Exception):
            raise outcome
        if outcome == HANGS:
            await asyncio.sleep(3600)
        return None if outcome == ABSENT else await get(kind, key)

    cluster.get = read
    return began


@pytest.mark.parametrize("error", [Unreachable("no route"), TransientError("401"), TerminalError("no permission")])
async def test_a_read_that_fails_ends_nothing_and_is_repeated(cluster, error):
    read_as(cluster, *[error] * 20)
    await cluster.delete(POD, KEY)
    assert not await ends(cluster, 15 * EVERY)
    assert await ends(cluster, 15 * EVERY)


@pytest.mark.parametrize("outcomes", [(), (ABSENT, ABSENT)], ids=["deleted", "deleted by force"])
async def test_it_ends_soon_even_if_a_read_gets_no_response(cluster, outcomes):
    """The API client itself waits for a minute, in which another operator waits for the Lease."""
    read_as(cluster, None, HANGS, *outcomes)
    task = asyncio.create_task(until_deleted(cluster, KEY))
    await asyncio.sleep(0)
    with capture_logs() as logs:
        await cluster.delete(POD, KEY)
        await asyncio.sleep(3 * EVERY + 0.1)
    assert task.done()
    assert logs[0]["cause"] == "no response within 5 s"


async def test_reads_without_a_response_get_more_time_until_a_success(cluster):
    began = read_as(cluster, *[HANGS] * 8, None, *[HANGS] * 2)
    assert not await ends(cluster, 600)
    pauses = [after - before for before, after in pairwise(began)]
    assert pauses[:12] == pytest.approx([5, 10, 20, 40, 60, 60, 60, 60, EVERY, 5, 10, EVERY])


@pytest.mark.parametrize("between", [(), (Unreachable("no route"),), (HANGS,)], ids=["", "failed", "hung"])
async def test_a_pod_that_was_deleted_by_force_ends_it(cluster, between):
    """As when its node was deleted. A read that fails in between tells nothing."""
    began = read_as(cluster, None, ABSENT, *between, ABSENT)
    assert await ends(cluster, 600)
    assert len(began) == 3 + len(between)


async def test_single_answers_that_lack_the_pod_end_nothing(cluster):
    read_as(cluster, None, ABSENT, None, ABSENT, None, None, ABSENT)
    assert not await ends(cluster, 600)


async def test_a_slow_api_ends_it_too(cluster):
    """Each response takes longer than the first limit."""
    get = cluster.get

    async def slow(kind, key):
        await asyncio.sleep(12)
        return await get(kind, key)

    cluster.get = slow
    await cluster.delete(POD, KEY)
    assert await ends(cluster, 60)


async def test_a_pod_that_is_not_there_ends_nothing(cluster):
    assert not await ends(cluster, 600, (KEY[0], "another"))


POD_IN_DELETION = {"kind": "Pod", "metadata": {"name": KEY[1], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


class Proxy(Server):
    """An API behind a proxy that gives these answers, (code, body, headers), in turn, and then that the pod is being
    deleted.
    """

    def __init__(self, *answers):
        super().__init__()
        self.answers = [*answers]

    def _answer(self, request):
        if "/pods/" not in request.url.path:
            return httpx2.Response(404)
        if not self.answers:
            return httpx2.Response(200, json=POD_IN_DELETION)
        code, body, *headers = self.answers.pop(0)
        return httpx2.Response(code, content=body, headers=dict(headers))


MALFORMED = {
    "HTML": (200, b"<html>login</html>"),
    "truncated": (200, b'{"metadata": {"na'),
    "empty": (200, b""),
    "redirect": (302, b"", ("location", "https://login.test")),
    "not gzip": (200, b"plain", ("content-encoding", "gzip")),
    "details are text": (404, json.dumps({"kind": "Status", "details": "none"}).encode()),
    "no metadata": (200, b'{"metadata": null}'),
    "no mapping": (200, b'["pod"]'),
    "no UTF-8": (200, b'{"metadata": {"name": "\xff"}}'),
}


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_answer_ends_nothing_and_is_logged_once(answer):
    cluster = Proxy(*[answer] * 4).cluster
    with capture_logs() as logs:
        task = asyncio.create_task(until_deleted(cluster, KEY))
        await asyncio.sleep(3 * EVERY + 1)
        assert not task.done()
        await asyncio.sleep(EVERY)
        task.result()
    told = [each for each in logs if "cannot be read" in each["event"]]
    assert [each["log_level"] for each in told] == ["warning"], told
    assert told[0]["pod"] == "stackwright/stackwright-1" and told[0]["cause"]


async def logged(cluster, outcomes, key=KEY):
    """Causes that are logged while reads of the pod have these outcomes."""
    read_as(cluster, *outcomes)
    with capture_logs() as logs:
        assert not await ends(cluster, (len(outcomes) + 5) * EVERY, key)
    return [each["cause"] for each in logs]


async def test_each_kind_of_failure_is_logged_once_until_a_success(cluster):
    refused, away = TerminalError("the operator lacks the RBAC permission to get pods"), Unreachable("no route")
    outcomes = [refused, refused, away, refused, TerminalError("another id"), away, None, refused, refused]
    assert await logged(cluster, outcomes) == [str(refused), str(away), str(refused)]


async def test_a_pod_that_is_not_there_is_logged_once(cluster):
    assert await logged(cluster, [], (KEY[0], "another")) == ["there is no such pod"]


async def test_the_text_of_an_unknown_error_is_not_logged(cluster):
    """It may quote a Secret."""
    [cause] = await logged(cluster, [ValueError("hush")])
    assert cause.startswith("ValueError at ")


async def test_a_cancellation_ends_it(cluster):
    task = asyncio.create_task(until_deleted(cluster, KEY))
    await asyncio.sleep(EVERY)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_process_whose_threads_go_on_ends_soon():
    """As those that wait for an OpenStack; Python waits for them before it ends."""
    code = (
        "import asyncio, threading; from stackwright.runtime.own_pod import end_process\n"
        "async def main():\n"
        "    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)\n"
        "    end_process(0.05)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
