"""The polls of the end-to-end tests: what counts as a response, and what is retried."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from openstack.exceptions import SDKException
from polling import eventually, until

from stackwright.core.errors import NotServed


def answers(*found: Any) -> Callable[[], Any]:
    """A check that gives or raises these in turn."""
    left = iter(found)

    def check() -> Any:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return check


@pytest.mark.parametrize("answer", [None, "", "text", 0, 1, []])
def test_a_poll_must_return_a_bool(answer: Any) -> None:
    with pytest.raises(TypeError, match="True or False"):
        eventually(answers(answer), limit=0, pause=0)


@pytest.mark.parametrize(
    "failure",
    [
        False,
        AssertionError(),
        KeyError("status"),
        SDKException("503"),
        ConnectFailure(),
        subprocess.TimeoutExpired("kubectl", 1),
        TimeoutError(),
        NotServed("404"),
    ],
    ids=repr,
)
def test_a_failed_poll_is_repeated_until_the_limit(failure: Any) -> None:
    assert eventually(answers(failure, failure, True), limit=10, pause=0) < 10
    with pytest.raises(AssertionError, match="not within 0 s"):
        eventually(answers(*[failure] * 100000), limit=0, pause=0.01)


def test_a_failure_of_another_kind_ends_the_poll_at_once() -> None:
    with pytest.raises(RuntimeError, match="ERROR"):
        eventually(answers(RuntimeError("the server is in status ERROR"), True), pause=0)


def awaited(*found: Any) -> Callable[[], Awaitable[Any]]:
    check = answers(*found)

    async def asked() -> Any:
        return check()

    return asked


async def test_a_check_that_is_awaited_has_the_same_rules() -> None:
    assert await until(awaited(False, NotServed("404"), True), "it is there", limit=10, pause=0) < 10
    with pytest.raises(AssertionError, match="it is there: not within 0 s"):
        await until(awaited(*[False] * 100000), "it is there", limit=0, pause=0.01)
    with pytest.raises(TypeError, match="True or False"):
        await until(awaited({"name"}), "it is there", limit=0, pause=0)
    with pytest.raises(RuntimeError, match="ERROR"):
        await until(awaited(RuntimeError("ERROR"), True), "it is there", pause=0)
