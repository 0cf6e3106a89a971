"""Two looks without a usable identity, or at another project, prove the loss of credentials; one does not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from stackwright.adapters.openstack.tenant import attempts
from stackwright.adapters.openstack.tenant.attempts import Attempts
from stackwright.adapters.openstack.transport.failures import CONFIRM, LAPSE
from stackwright.core.errors import Unreachable
from stackwright.core.openstack.errors import BY_LOOKS, Reason, TerminalCloudError, TransientCloudError

pytestmark = pytest.mark.looptime
WHO = ("server", ("ns", "web"))


@pytest.fixture(autouse=True)
def simulated_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: asyncio.get_running_loop().time())
    monkeypatch.setattr(attempts, "time", clock)


Error = TransientCloudError | TerminalCloudError
Other = Unreachable | ValueError  # of Kubernetes, after the identity was found


def denied(cause: Reason) -> Error:
    absent = cause is Reason.IDENTITY_NOT_FOUND
    return TransientCloudError(cause, "no such object") if absent else TerminalCloudError(cause, "no match")


async def look(made: Attempts, error: Error | Other | None = None, who: tuple[str, tuple[str, str]] = WHO) -> bool:
    """Whether the error of this look is sure."""
    try:
        async with made.look(who):
            if error:
                raise error
    except (TransientCloudError, TerminalCloudError) as raised:
        return raised.sure
    except (Unreachable, ValueError):
        pass
    return False


@pytest.mark.parametrize("cause", list(BY_LOOKS))
async def test_a_second_look_some_seconds_later_proves_a_lost_identity(cause: Reason) -> None:
    made = Attempts()
    assert not await look(made, denied(cause))
    assert not await look(made, denied(cause)), "at the same moment"
    assert not await look(made, denied(cause), ("server", ("ns", "db"))), "another object"
    await asyncio.sleep(CONFIRM)
    assert await look(made, denied(cause))


@pytest.mark.parametrize(
    "between",
    [None, TransientCloudError(Reason.UNREACHABLE, "timed out"), Unreachable("no API server"), ValueError("a defect")],
)
async def test_a_look_with_a_usable_identity_disproves_the_loss(between: Error | Other | None) -> None:
    made = Attempts()
    await look(made, denied(Reason.IDENTITY_NOT_FOUND))
    await asyncio.sleep(CONFIRM)
    await look(made, between)
    assert not await look(made, denied(Reason.IDENTITY_NOT_FOUND))


async def test_a_failure_of_another_identity_proves_nothing() -> None:
    made = Attempts()
    await look(made, TransientCloudError(Reason.IDENTITY_NOT_FOUND, "OpenStackClusterIdentity a does not exist"))
    await asyncio.sleep(CONFIRM)
    other = TransientCloudError(Reason.IDENTITY_NOT_FOUND, "OpenStackClusterIdentity b does not exist")
    assert not await look(made, other)


async def test_a_recent_failure_is_kept() -> None:
    made = Attempts()
    await look(made, denied(Reason.IDENTITY_NOT_FOUND))
    made.forget(asyncio.get_running_loop().time() - 1)
    await asyncio.sleep(CONFIRM)
    assert await look(made, denied(Reason.IDENTITY_NOT_FOUND))


async def test_an_old_failure_proves_nothing_and_is_dropped() -> None:
    made = Attempts()
    await look(made, denied(Reason.IDENTITY_NOT_FOUND))
    await asyncio.sleep(LAPSE)
    assert not await look(made, denied(Reason.IDENTITY_NOT_FOUND))
    await asyncio.sleep(1)
    made.forget(asyncio.get_running_loop().time())
    assert not made._unproven
