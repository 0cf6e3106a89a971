"""Responses of a cloud become messages of conditions, without parts that vary between equal responses."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Subscription, look
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef

ID = "5b6c1d0e-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("No (HTTP 401) (Request-ID: req-5b6c1d0e-0000-4000-8000-000000000001)", "No (HTTP 401)"),
        (f"Failed, see req-{ID}.", "Failed, see."),
        ("(Caused by <HTTPSConnection object at 0x7f12ab34>: no way)", "(Caused by <HTTPSConnection object>: no way)"),
        ("The token expired at 2026-01-02T03:04:05.678Z", "The token expired at"),
        (f"port {ID} of prereq-1 is required-by 10.0.0.0/24", f"port {ID} of prereq-1 is required-by 10.0.0.0/24"),
    ],
)
def test_varying_parts_are_omitted(said: str, told: str) -> None:
    assert (str(TransientCloudError(Reason.CONFLICT, said)), str(TerminalCloudError(Reason.REJECTED, said))) == (
        told,
        told,
    )


async def test_missing_user_data_causes_a_wait() -> None:
    text = yaml.safe_dump({"clouds": {"mine": {"auth": {"auth_url": "http://127.0.0.1:1/v3"}}}}).encode()
    given: dict[str, Any] = {"clouds": {"clouds.yaml": text}}

    async def secrets(key: tuple[str, str]) -> Any:
        data = {name: base64.b64encode(value).decode() for name, value in given.get(key[1], {}).items()}
        return {"metadata": {"name": key[1], "resourceVersion": "1", "uid": key[1]}, "data": data} if data else None

    clouds = OpenStackClouds(secrets, lambda controller, key: None)
    call = CloudCall(CloudRef(("ns", "clouds"), "mine"), "create", SERVER_KEY, ID, user_data=(("ns", "data"), "value"))
    await look(clouds, call.cloud, Subscription("server", ("ns", "s"), ID, ()))
    for data in ({}, {"other": b"x"}):
        given["data"] = data
        with pytest.raises(TransientCloudError, match="Waiting for Secret ns/data with the key value") as raised:
            await submit(clouds, call)
        assert raised.value.reason == "WaitingForUserData"
    given["data"] = {"value": b"x"}
    with pytest.raises(TransientCloudError) as raised:
        await submit(clouds, call)
    assert raised.value.reason != "WaitingForUserData"
    await clouds.close()
