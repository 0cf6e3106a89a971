"""Queries of one object to a slow but honest cloud: after some looks all have responses."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from stackwright.adapters.openstack.tenant import attempts, clouds, project_session
from stackwright.adapters.openstack.tenant.clouds import SWEEP, OpenStackClouds
from stackwright.adapters.openstack.tenant.project_session import ANSWER, ANSWERS, FORGET, Project
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport import single_flight
from stackwright.adapters.openstack.transport.project_connection import THREADS
from stackwright.controllers.infra.references import Answers, Resolver
from stackwright.controllers.infra.resolve_references import resolve_references
from stackwright.core.openstack.clouds import CALL_SECONDS, LATE, Query, query
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource

pytestmark = pytest.mark.looptime(noop_cycles=3)
CLOUD = CloudRef(("ns", "clouds"), "mine")
WHO = "floatingippool", ("ns", "a")
PAUSES = (10.0, 20.0, 40.0, 60.0)  # seconds until a retry after a failure


def now() -> float:
    return asyncio.get_running_loop().time()


class Slow:
    """A cloud whose responses take `takes` seconds, with as many threads as a connection; `things` per query."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float, things: int = 1) -> None:
        self.takes, self.things, self.asked, self.fail = takes, things, 0, False
        self.told: list[Any] = []
        clock = SimpleNamespace(monotonic=lambda: now() + 100_000, time=lambda: now() + 100_000)
        for module in (attempts, clouds, project_session, single_flight):
            monkeypatch.setattr(module, "time", clock)
        self.port = OpenStackClouds(AsyncMock(), lambda *who: self.told.append(who))
        self.project = Project(Mock(), Snapshot(0.0))
        self._free = asyncio.Semaphore(THREADS)
        monkeypatch.setattr(self.port, "_project", self._project)
        monkeypatch.setattr(self.port, "_do", self._do)

    async def _project(self, cloud: CloudRef) -> Project:
        if now() + 100_000 - self.port._swept >= SWEEP:
            self.port._projects = {"d": self.project}
            self.project.used = now() + 100_000
            self.port._sweep(now() + 100_000)
        return self.project

    async def _do(self, cloud: CloudRef, project: Project, service: str, what: Any, *, queues: bool = True) -> Any:
        async with self._free:
            self.asked += 1
            await asyncio.sleep(self.takes)
            if self.fail:
                raise TransientCloudError("ServerError", "HTTP 500")
            return tuple(CloudResource("floating-ip", f"{self.asked}-{n}", "x" * 200) for n in range(self.things))

    async def look(self, count: int, who: Any = WHO) -> int:
        """How many of these queries got a response."""
        async with self.port.in_time(*who):
            return len((await resolve_references(self.port, CLOUD, partial(resolve, count))).answers)

    async def ends(self, count: int) -> int:
        """How many looks it takes, each after the pause that it would have."""
        for number in range(1, 100):
            self.told.clear()
            try:
                assert await self.look(count) == count
                return number
            except TransientCloudError:
                pause = PAUSES[min(number, len(PAUSES)) - 1]
                until = now() + pause
                while now() < until and not self.told:
                    await asyncio.sleep(0.5)
        raise AssertionError(f"no look ended within {now():.0f} s")


def asked(number: int) -> Query:
    return query("floating-ip", floating_ip_address=f"10.0.{number >> 8}.{number & 255}")


def resolve(count: int, answers: Answers) -> Resolver:
    resolver = Resolver(answers)
    for number in range(count):
        resolver.matches(asked(number))
    return resolver


@pytest.mark.parametrize("things", [1, 0])
@pytest.mark.parametrize(
    ("count", "takes", "looks", "seconds"),
    [(512, 0.65, 1, 60), (512, 4.8, 3, 400), (8, 6.0, 2, 20), (12, 5.5, 4, 60), (512, 6.0, 70, 500)],
)
async def test_all_queries_get_responses_in_the_end(
    monkeypatch: pytest.MonkeyPatch, count: int, takes: float, looks: int, seconds: float, things: int
) -> None:
    """512 addresses at 0.65 s each never were, nor eight at 6 s."""
    cloud = Slow(monkeypatch, takes, things)
    assert await cloud.ends(count) <= looks
    assert now() <= seconds
    assert cloud.asked <= count * 1.05, "hardly any answer was for nothing"


async def test_references_are_resolved_in_a_sequential_cloud_too(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 0.65)
    cloud._free = asyncio.Semaphore(1)
    cloud.project.connection.check = Mock()
    assert await cloud.ends(512) <= 100
    assert cloud.asked <= 512 * 1.05


async def test_occasional_errors_do_not_restart_the_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 0.5)
    for _ in range(3):
        with pytest.raises(TransientCloudError):
            async with cloud.port.in_time(*WHO):
                await resolve_references(cloud.port, CLOUD, partial(resolve, 16))
                raise TransientCloudError("ServerError", "HTTP 500")
        await asyncio.sleep(2 * ANSWER)
    assert cloud.asked == 16
    assert await cloud.look(24) == 24
    assert cloud.asked == 24


async def test_after_a_look_a_response_is_valid_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 0.5)
    with pytest.raises(TransientCloudError):
        async with cloud.port.in_time(*WHO):
            await resolve_references(cloud.port, CLOUD, partial(resolve, 8))
            raise TransientCloudError("Unreachable", LATE)
    await asyncio.sleep(2 * ANSWER)
    assert await cloud.look(8, ("server", ("ns", "b"))) == 8
    assert cloud.asked == 16, "for others it does not hold longer"
    await cloud.look(8)
    assert cloud.asked == 16
    await asyncio.sleep(2 * ANSWER)
    await cloud.look(8)
    assert cloud.asked == 24
    with pytest.raises(TerminalCloudError):
        async with cloud.port.in_time(*WHO):
            raise TerminalCloudError("Forbidden", "HTTP 403")
    assert not cloud.port._attempts._unended
    await cloud.port.find(CLOUD, asked(600))
    await asyncio.sleep(3 * ANSWER)
    await cloud.look(1)
    assert set(cloud.project.answers) == {asked(0)}, "the others are forgotten"


async def test_no_response_is_valid_for_longer_than_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 0.5)

    async def fails() -> None:
        with pytest.raises(TransientCloudError):
            async with cloud.port.in_time(*WHO):
                await resolve_references(cloud.port, CLOUD, partial(resolve, 8))
                raise TransientCloudError("ServerError", "HTTP 500")

    while now() < FORGET - CALL_SECONDS:
        await fails()
        await asyncio.sleep(CALL_SECONDS)
    assert cloud.asked == 8
    await asyncio.sleep(CALL_SECONDS + ANSWER)
    await fails()
    assert cloud.asked == 16
    await asyncio.sleep(FORGET + SWEEP)
    await cloud.look(0, ("server", ("ns", "b")))
    await cloud._project(CLOUD)
    assert not cloud.port._attempts._unended, "who does not look again is forgotten"
    assert not cloud.project.answers


async def test_responses_kept_for_unfinished_looks_use_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 0.0, things=50)
    for number in range(10):
        with pytest.raises(TransientCloudError):
            async with cloud.port.in_time("server", ("ns", str(number))):
                for each in range(100):
                    await cloud.port.find(CLOUD, query("image", name=f"{number}-{each}"))
                raise TransientCloudError("Unreachable", LATE)
    assert ANSWERS / 2 < sum(each.weight for each in cloud.project.answers.values()) <= ANSWERS


async def test_a_deferred_caller_is_woken_by_a_response_and_not_by_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Slow(monkeypatch, 6.0)
    for fail in (True, False):
        cloud.fail = fail
        with pytest.raises(TransientCloudError, match="still in progress"):
            await cloud.look(1)
        await asyncio.sleep(10)
        assert cloud.told == ([] if fail else [WHO])


@pytest.mark.parametrize("cause", [Reason.AUTHENTICATION_FAILED, Reason.TOKEN_REFUSED, Reason.UNREACHABLE])
async def test_after_a_refusal_the_credentials_are_read_again(cause: Reason) -> None:
    port, project = OpenStackClouds(AsyncMock(), lambda *who: None), Mock()
    project.connection.do = AsyncMock(side_effect=TransientCloudError(cause, "no"))
    port._logins.forget = Mock()  # type: ignore[method-assign]
    with pytest.raises(TransientCloudError):
        await port._do(CLOUD, project, "compute", lambda made: None)
    assert port._logins.forget.called is (cause is not Reason.UNREACHABLE)
