"""Failures that together prove lost credentials."""

from __future__ import annotations

import pytest

from stackwright.adapters.openstack.transport.failures import ACCEPTED, CONFIRM, Failures
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError


def refused(failures: Failures, now: float) -> bool:
    error = TransientCloudError(Reason.AUTHENTICATION_FAILED, "HTTP 401")
    failures.note(error, now)
    return error.sure


def test_a_second_failure_proves_it_if_it_is_later() -> None:
    failures = Failures()
    assert [refused(failures, now) for now in (0.0, CONFIRM - 0.1, CONFIRM)] == [False, False, True]
    assert failures.prove(CONFIRM + 1)


@pytest.mark.parametrize("cause", ACCEPTED)
@pytest.mark.parametrize("kind", [TransientCloudError, TerminalCloudError])
def test_a_response_after_a_login_disproves_it(
    cause: Reason, kind: type[TransientCloudError] | type[TerminalCloudError]
) -> None:
    failures = Failures()
    refused(failures, 0.0)
    failures.note(kind(cause, "HTTP 403"), 1.0)
    assert not refused(failures, CONFIRM)


def test_a_response_without_a_login_disproves_nothing() -> None:
    failures = Failures()
    refused(failures, 0.0)
    failures.note(TransientCloudError(Reason.UNREACHABLE, "Keystone: HTTP 503"), 1.0)
    assert refused(failures, CONFIRM)
