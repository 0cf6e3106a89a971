"""The responses of an operator to probes before it reconciles."""

import json
from unittest.mock import Mock

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stackwright.runtime.health import Health


async def answer(health, path):
    response = await health._respond(make_mocked_request("GET", path))
    return response.status, json.loads(response.text)


async def test_an_operator_that_waits_for_the_lease_is_healthy_and_not_ready_and_names_the_holder():
    health = Health(waits=lambda: "pod-1_uid holds the Lease a/b")
    assert await answer(health, "/healthz") == (200, {"healthy": True, "causes": []})
    assert await answer(health, "/readyz") == (503, {"ready": False, "waits": "pod-1_uid holds the Lease a/b"})


async def test_it_gets_requests_for_admission_as_soon_as_it_has_a_certificate():
    served = [False]
    health = Health(waits=lambda: "another holds it", serves=lambda: served[0])
    assert (await answer(health, "/servingz"))[0] == 503
    served[0] = True
    assert (await answer(health, "/servingz"))[0] == 200


async def test_it_is_ready_when_it_has_read_all_objects():
    health = Health()
    assert await answer(health, "/readyz") == (503, {"ready": False, "waits": "all objects are being read"})
    health.watch(Mock(stuck=list), Mock(silent=dict))
    assert await answer(health, "/readyz") == (200, {"ready": True})
    assert (await answer(health, "/healthz"))[0] == 200


async def test_other_paths_do_not_exist():
    with pytest.raises(web.HTTPNotFound):
        await Health()._respond(make_mocked_request("GET", "/"))
