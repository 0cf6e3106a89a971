"""The polls of the end-to-end tests: what counts as an answer, and what is tried again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from openstack.exceptions import SDKException

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/e2e"))

from harness import eventually


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
def test_what_is_no_bool_is_no_answer(answer: Any) -> None:
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
    ],
    ids=repr,
)
def test_what_is_not_there_yet_is_asked_for_again_until_the_limit(failure: Any) -> None:
    assert eventually(answers(failure, failure, True), limit=10, pause=0) < 10
    with pytest.raises(AssertionError, match="not within 0 s"):
        eventually(answers(*[failure] * 100000), limit=0, pause=0.01)


def test_a_failure_of_another_kind_ends_the_poll_at_once() -> None:
    with pytest.raises(RuntimeError, match="ERROR"):
        eventually(answers(RuntimeError("the server is in status ERROR"), True), pause=0)
