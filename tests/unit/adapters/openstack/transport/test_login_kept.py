"""What is kept of a Secret: a Secret without credentials is not an absent one, and a login that fails is not reused."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from stackwright.adapters.openstack.transport import login, send
from stackwright.adapters.openstack.transport.login import Login, Logins
from stackwright.adapters.threads import NoThread
from stackwright.controllers.infra.cloud_observation import LOGIN
from stackwright.core.objects import OWNER
from stackwright.core.openstack.errors import Reason, TransientCloudError
from tests.unit.adapters.openstack.transport.test_clouds_yaml import CLOUD, text


async def test_a_secret_that_appears_without_credentials_is_not_reported_as_absent() -> None:
    found: list[Any] = [None, {"data": {"other": ""}}]

    async def secret(_: Any) -> Any:
        return found.pop(0)

    logins = Logins(secret)
    with pytest.raises(TransientCloudError, match="does not exist"):
        await logins.get(CLOUD)
    with pytest.raises(TransientCloudError, match="has no cloud mine"):
        await logins.get(CLOUD)


async def test_a_way_that_fails_is_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, fails = [100.0], [False]
    monkeypatch.setattr(login.time, "monotonic", lambda: now[0])

    async def secret(_: Any) -> Any:
        return {"data": {"clouds.yaml": base64.b64encode(text().encode()).decode()}}

    async def way(made: Login) -> Login:
        if fails[0]:
            raise TransientCloudError(Reason.CREDENTIALS_INVALID, "no way")
        return made

    logins = Logins(secret, way)
    await logins.get(CLOUD)
    now[0], fails[0] = now[0] + login.READ_AGAIN, True
    for _ in range(2):
        with pytest.raises(TransientCloudError, match="no way"):
            await logins.get(CLOUD)


async def test_a_secret_without_a_thread_to_parse_it_is_an_unreachable_cloud(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def secret(_: Any) -> Any:
        return {"data": {"clouds.yaml": base64.b64encode(text().encode()).decode()}}

    async def no_thread(*_: Any) -> None:
        raise NoThread

    logins = Logins(secret)
    with monkeypatch.context() as patch:
        patch.setattr(send, "in_thread_of", no_thread)
        with pytest.raises(TransientCloudError, match="cannot start a thread") as error:
            await logins.get(CLOUD)
    assert error.value.reason == "Unreachable"
    assert await logins.get(CLOUD)


async def test_credentials_of_a_service_are_not_used_for_a_tenant() -> None:
    """Whoever may create a server in the namespace of a cloud would be the cloud's administrator."""
    data = {"clouds.yaml": base64.b64encode(text().encode()).decode()}
    owned = {"metadata": {"labels": {OWNER: "keystone.cloud"}}, "data": data}
    found: list[Any] = [{"data": data}, owned, owned]

    async def secret(_: Any) -> Any:
        return found.pop(0)

    logins = Logins(secret)
    await logins.get(CLOUD)
    logins.forget(CLOUD)
    with pytest.raises(TransientCloudError, match="belongs to keystone cloud") as error:
        await logins.get(CLOUD)
    assert logins._known == {}
    assert error.value.reason not in LOGIN, "such an error counts as lost credentials"
    assert await logins.get(replace(CLOUD, granted=True)), "an administrator shared it"


@pytest.mark.parametrize("found", [None, {"data": {"clouds.yaml": "e30="}}])
async def test_one_read_without_credentials_is_not_sure(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    """As while a user deletes and recreates the Secret. An object in deletion may be detached if they are lost."""
    now = [100.0]
    monkeypatch.setattr(login.time, "monotonic", lambda: now[0])

    async def secret(_: Any) -> Any:
        return found

    logins, sure = Logins(secret), []
    for now[0] in (100.0, 104.0, 105.0):
        with pytest.raises(TransientCloudError) as error:
            await logins.get(CLOUD)
        sure.append(error.value.sure)
    assert sure == [False, False, True]
