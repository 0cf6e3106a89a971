"""The connection to one project: rate limits are obeyed, and a hanging cloud delays no other caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Barrier
from typing import Any
from unittest.mock import Mock

import pytest
from keystoneauth1 import exceptions
from requests import Response

from stackwright.adapters.openstack.transport import project_connection
from stackwright.adapters.openstack.transport.failures import CONFIRM, LAPSE
from stackwright.adapters.openstack.transport.login import Login, connection
from stackwright.adapters.openstack.transport.project_connection import (
    PAUSE,
    SLOW,
    THREADS,
    TRY,
    WAITED,
    ProjectConnection,
)
from stackwright.adapters.openstack.transport.send import problem
from stackwright.adapters.threads import seconds_left
from stackwright.controllers.infra.cloud_observation import LOGIN
from stackwright.core.openstack.errors import UNSURE, TerminalCloudError, TransientCloudError


class Time:
    def __init__(self) -> None:
        self.now = 100_000.0

    def monotonic(self) -> float:
        return self.now


class Asked:
    """A function for a thread: it counts its calls, takes its time, and then fails or not."""

    def __init__(self, time: Time) -> None:
        self.times, self.takes, self.fail = 0, 0.0, None
        self.when: Callable[[], object] = lambda: None  # it continues
        self._time = time

    def __call__(self, connection: Any) -> str:
        self.times += 1
        self.when()
        self._time.now += self.takes
        if self.fail:
            raise self.fail
        return "done"


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(project_connection, "time", made)
    monkeypatch.setattr(project_connection, "connection", lambda *_: Mock(current_project_id="p"))
    return made


@pytest.fixture
async def project(time: Time):
    made = ProjectConnection(Login("d", {"auth": {"auth_url": "https://keystone/v3"}}, ""))
    yield made
    made.close()


@pytest.fixture
def asked(time: Time) -> Asked:
    return Asked(time)


async def trouble(project: ProjectConnection, asked: Asked, service: str = "compute") -> TransientCloudError:
    with pytest.raises(TransientCloudError) as raised:
        await project.do(service, asked)
    return raised.value


async def test_no_request_is_sent_before_the_time_of_retry_after(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    asked.fail = problem(429, "Too many", "40")
    first = await trouble(project, asked)
    assert (first.reason, first.after) == ("RateLimited", 40)
    asked.fail = None
    time.now += 10
    told = [await trouble(project, asked, service) for service in ("compute", "network", "network")]
    assert {(each.reason, str(each)) for each in told} == {("RateLimited", "HTTP 429: Too many")}
    assert all(each.after and 30 <= each.after <= 36 for each in told), "the seconds left, and some to spread"
    assert len({each.after for each in told}) == 3, "not all at once"
    assert asked.times == 1
    time.now += 30
    assert await project.do("network", asked) == "done"


async def test_waiting_callers_also_get_the_retry_time(time: Time, project: ProjectConnection, asked: Asked) -> None:
    asked.fail = problem(429, "Too many")
    found = await asyncio.gather(*(project.do("compute", asked) for _ in range(50)), return_exceptions=True)
    assert {each.reason for each in found if isinstance(each, TransientCloudError)} == {"RateLimited"}
    assert asked.times <= THREADS


async def test_a_request_without_a_thread_is_a_transient_error_and_is_not_sent_later(
    project: ProjectConnection, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        error = await trouble(project, asked)
    assert (error.reason, str(error)[:32]) == ("Unreachable", "The operator cannot start a thre")
    assert (await project.do("compute", asked), asked.times) == ("done", 1)


async def test_a_list_does_not_queue_behind_all_the_rest(project: ProjectConnection) -> None:
    done = threading.Event()
    others = [asyncio.create_task(project.do("compute", lambda _: done.wait(100))) for _ in range(2 * THREADS)]
    try:
        await asyncio.sleep(0)
        assert await asyncio.wait_for(project.do("compute", lambda _: "list", queues=False), 60) == "list"
        assert not any(other.done() for other in others)
    finally:
        done.set()
    assert await asyncio.gather(*others) == [True] * 2 * THREADS


async def test_a_shorter_pause_does_not_end_a_longer_one(time: Time, project: ProjectConnection) -> None:
    long, short = Asked(time), Asked(time)
    long.fail, short.fail = problem(429, "a", "100"), problem(429, "b", "1")
    long.when = short.when = partial(Barrier(2).wait, 60)
    await asyncio.gather(project.do("compute", long), project.do("network", short), return_exceptions=True)
    time.now += 50
    assert (await trouble(project, short)).after
    assert short.times == 1


async def test_keystone_wants_fewer_requests_too(time: Time, project: ProjectConnection, asked: Asked) -> None:
    asked.fail = exceptions.TooManyRequests("slow down", retry_after=7)
    found = await trouble(project, asked)
    assert (found.reason, found.after) == ("RateLimited", 7)


async def test_a_hanging_service_is_tried_by_one_request_at_a_time(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    asked.takes, asked.fail = 3 * SLOW, exceptions.ConnectTimeout("timed out")
    assert (await trouble(project, asked)).reason == "Unreachable"
    again = await trouble(project, asked)
    assert (again.reason, again.after, asked.times) == ("Unreachable", None, 1)
    other = Asked(time)
    assert await project.do("network", other) == "done", "another service answers"

    time.now += PAUSE
    asked.fail, asked.takes = None, 0.0
    trying, begun = asyncio.Event(), asyncio.get_running_loop()

    def tries(connection: Any) -> str:
        begun.call_soon_threadsafe(trying.set)
        assert asyncio.run_coroutine_threadsafe(trouble(project, other), begun).result(60).reason == "Unreachable"
        return asked(connection)

    assert await asyncio.wait_for(project.do("compute", tries), 60) == "done"
    assert other.times == 1
    assert await project.do("compute", other) == "done", "as soon as it answers all ask again"


async def test_a_probe_that_does_not_return_is_followed_by_the_next(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    asked.takes, asked.fail = 2 * SLOW, exceptions.ConnectTimeout("timed out")
    await trouble(project, asked)
    time.now += PAUSE
    free = threading.Event()
    hangs = asyncio.create_task(project.do("compute", lambda connection: free.wait(10)))
    await asyncio.sleep(0)
    asked.takes, asked.fail = 0.0, None
    assert (await trouble(project, asked)).reason == "Unreachable"
    time.now += TRY
    assert await project.do("compute", asked) == "done"
    free.set()
    assert await hangs


async def test_a_request_that_fails_fast_may_be_repeated_at_once(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    asked.fail = exceptions.ConnectFailure("refused")
    for _ in range(3):
        await trouble(project, asked)
    assert asked.times == 3


async def test_rejected_credentials_are_retried_rarely(time: Time, project: ProjectConnection, asked: Asked) -> None:
    """500 objects with a wrong password would lock its account."""
    asked.fail = exceptions.Unauthorized("no")
    for _ in range(5):
        assert (await trouble(project, asked)).reason == "AuthenticationFailed"
    assert asked.times == 1
    time.now += PAUSE
    asked.fail = None
    assert await project.do("compute", asked) == "done"


async def test_a_service_that_rejects_requests_counts_as_responding(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    asked.takes, asked.fail = 2 * SLOW, TerminalCloudError("Forbidden", "no")
    for _ in range(2):
        with pytest.raises(TerminalCloudError):
            await project.do("compute", asked)


async def test_two_failures_of_a_kind_read_the_same(time: Time, project: ProjectConnection, asked: Asked) -> None:
    """Otherwise each would be written to the status, which is an event, which causes another request."""
    pool = "HTTPConnectionPool(host='nova', port=1): Max retries exceeded with url: /servers?changes-since="
    cause = "(Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f3a{0}>: refused'))"
    told = set()
    for number in ("1", "2"):
        asked.fail = exceptions.ConnectFailure(f"{pool}{number} {cause.format(number)}")
        told.add(str(await trouble(project, asked, number)))
        asked.fail = exceptions.Unauthorized("log in", request_id=f"req-{number}")
        told.add(str(await trouble(project, asked, number)))
    assert len(told) == 2
    assert all(text.startswith("https://keystone/v3: ") for text in told), "by which cloud"


def test_each_response_is_counted_by_method_and_status(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, str]] = []
    session = Mock(hooks={"response": []})
    monkeypatch.setattr("openstack.connection.Connection", lambda **_: Mock(session=Mock(session=session)))
    with ExitStack() as files:
        connection(Login("d", {"auth": {}}, ""), files, lambda *what: counted.append(what))
    (hook,) = session.hooks["response"]
    hook(Mock(status_code=429, request=Mock(method="GET")), timeout=3)
    assert counted == [("GET", "429")]


@pytest.fixture
def shared(time: Time) -> Iterator[list[ProjectConnection]]:
    """Two connections and the one thread that they have."""
    with ThreadPoolExecutor(1) as threads:
        connections = [
            ProjectConnection(Login(name, {"auth": {"auth_url": f"https://{name}/v3"}}, ""), threads=threads)
            for name in "ab"
        ]
        yield connections
        for each in connections:
            each.close()


async def test_a_queued_request_is_not_sent_to_a_cloud_that_began_to_hang(
    time: Time, shared: list[ProjectConnection], asked: Asked
) -> None:
    """Else all that waits would take the threads of others for as long as the first did, again and again."""
    asked.takes, asked.fail = SLOW + 1, exceptions.ConnectTimeout("no answer")
    calls = [shared[0].do("compute", asked) for _ in range(THREADS)]
    found = await asyncio.gather(*calls, shared[1].do("compute", lambda _: "done"), return_exceptions=True)
    assert found.pop() == "done"
    assert len({str(error) for error in found}) == 1
    assert asked.times == 1
    time.now += PAUSE
    asked.fail = None
    assert await shared[0].do("compute", asked) == "done", "who tries again is not told what it was"


async def test_the_wait_for_a_thread_is_not_an_error_of_the_service(
    time: Time, shared: list[ProjectConnection], asked: Asked
) -> None:
    slow, quick = Asked(time), asked
    slow.takes, quick.fail = SLOW + 1, exceptions.ConnectTimeout("no answer")
    both_wait = threading.Event()
    slow.when = partial(both_wait.wait, 5)
    calls = asyncio.gather(shared[0].do("compute", slow), shared[1].do("compute", quick), return_exceptions=True)
    await asyncio.sleep(0)
    both_wait.set()
    await calls
    await trouble(shared[1], quick)
    assert quick.times == 2, "it failed at once, so it is asked again at once"


async def test_a_shorter_pause_ends_no_longer_one(time: Time, project: ProjectConnection, asked: Asked) -> None:
    """Of two requests in progress, the one with the later response may get the shorter pause."""
    both = Barrier(2)
    first, second = Asked(time), Asked(time)
    first.fail, second.fail = problem(429, "Too many", "40"), problem(429, "Too many", "5")
    first.when = lambda: both.wait(10)
    done = threading.Event()
    second.when = lambda: (both.wait(10), done.wait(10))
    late = asyncio.create_task(trouble(project, second))
    await trouble(project, first)
    done.set()
    await late
    time.now += 6
    project_says = await trouble(project, asked)
    assert (project_says.reason, asked.times) == ("RateLimited", 0)


async def test_a_login_that_ends_after_its_line_was_closed_is_closed_too(
    time: Time, project: ProjectConnection, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock(current_project_id="p")

    def slow(*_: object) -> Mock:
        project.close()
        return made

    monkeypatch.setattr(project_connection, "connection", slow)
    await project.do("compute", asked)
    made.close.assert_called_once()


async def late_for_a_thread(
    shared: list[ProjectConnection], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> TransientCloudError:
    """The error of a request that gets the thread of another one 50 ms before its own deadline."""
    monkeypatch.setattr(project_connection, "CALL_SECONDS", 0.5)
    free = threading.Event()
    holds = asyncio.create_task(shared[1].do("compute", lambda _: free.wait(10), queues=False))
    await asyncio.sleep(0)
    waits = asyncio.create_task(trouble(shared[0], asked))
    asyncio.get_running_loop().call_later(0.45, free.set)
    late = await waits
    assert await holds
    return late


async def test_a_request_that_waited_too_long_for_a_thread_is_not_sent_or_counted(
    time: Time, shared: list[ProjectConnection], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had only seconds left, in which no honest cloud has to answer."""
    late = await late_for_a_thread(shared, asked, monkeypatch)
    assert (late.reason, str(late)) == ("Unreachable", WAITED)
    assert asked.times == 0
    assert await shared[0].do("compute", asked) == "done"


async def test_a_probe_slot_that_comes_too_late_passes_to_the_next(
    time: Time, shared: list[ProjectConnection], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.takes, asked.fail = 2 * SLOW, exceptions.ConnectTimeout("timed out")
    await trouble(shared[0], asked)
    time.now += PAUSE
    asked.takes, asked.fail = 0.0, None
    assert str(await late_for_a_thread(shared, asked, monkeypatch)) == WAITED
    assert await shared[0].do("compute", asked) == "done"


async def test_a_call_that_reached_its_own_deadline_does_not_count_against_the_service(
    time: Time, project: ProjectConnection, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last request had no more time than was left by those before it, which were answered."""
    monkeypatch.setattr(project_connection, "CALL_SECONDS", 0.2)
    asked.takes, asked.fail = 2 * SLOW, exceptions.ConnectTimeout("timed out")
    asked.when = lambda: threading.Event().wait(seconds_left())
    await trouble(project, asked)
    monkeypatch.setattr(project_connection, "CALL_SECONDS", 30)  # a busy machine may take more than 0.2 s
    asked.when, asked.fail = lambda: None, None
    assert await project.do("compute", asked) == "done"


async def test_one_refused_login_is_not_sure(time: Time, project: ProjectConnection, asked: Asked) -> None:
    """An object in deletion may be detached from its cloud if its credentials are refused."""
    asked.fail = refusal()
    for service in ("compute", "network"):
        assert not (await trouble(project, asked, service)).sure
    assert not (await trouble(project, asked)).sure, "the same response, kept"
    time.now += PAUSE
    assert CONFIRM <= PAUSE
    assert (await trouble(project, asked)).sure
    assert (await trouble(project, asked)).sure, "the same response, kept"
    asked.fail = None
    await project.do("network", asked)
    assert not (await trouble(project, asked)).sure, "the same response, kept, before a success of another service"
    time.now += PAUSE
    await project.do("compute", asked)
    asked.fail = refusal()
    assert not (await trouble(project, asked)).sure, "the first one since a success"
    time.now += LAPSE + 1
    assert not (await trouble(project, asked)).sure, "the other one is long ago"


def refusal(content: bytes = b'{"error": {"code": 401, "message": "no"}}') -> exceptions.Unauthorized:
    response = Response()
    response.status_code, response._content = 401, content
    return exceptions.Unauthorized("no", response=response)


@pytest.mark.parametrize(
    "content", [b"<html>log in</html>", b"", b"{}", b'{"error": "no"}', b'{"error": {}, "status": 401}', b"[" * 10_000]
)
async def test_a_refusal_of_a_gateway_proves_nothing(
    time: Time, project: ProjectConnection, asked: Asked, content: bytes
) -> None:
    asked.fail = refusal(content)
    for _ in range(3):
        assert not (await trouble(project, asked)).sure
        time.now += PAUSE


@pytest.mark.parametrize("status", [403, 500, 503])
async def test_a_failure_of_a_service_shows_that_the_login_was_accepted(
    time: Time, project: ProjectConnection, asked: Asked, status: int
) -> None:
    asked.fail = refusal()
    await trouble(project, asked)
    asked.fail = problem(status, "no")
    with pytest.raises((TerminalCloudError, TransientCloudError)):
        await project.do("network", asked)
    time.now += PAUSE
    asked.fail = refusal()
    assert not (await trouble(project, asked)).sure


async def test_a_service_that_refuses_accepted_tokens_is_no_lost_login(
    time: Time, project: ProjectConnection, asked: Asked
) -> None:
    """Keystone accepts the login again before the service refuses the second token."""
    refused = problem(401, "log in")
    assert isinstance(refused, TransientCloudError) and refused.cause not in (*UNSURE, *LOGIN)
    asked.fail = refused
    for _ in range(5):
        assert (await trouble(project, asked)).reason == "TokenRefused"
    assert asked.times == 1, "it is retried rarely"
    time.now += PAUSE
    asked.fail = refusal()
    assert not (await trouble(project, asked)).sure, "the first refusal of a login"
