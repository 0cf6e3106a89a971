"""`status` for users who may not read the Secrets of a cloud."""

import pytest

from stackwright.api.kinds import SECRET
from stackwright.cli.state.public import read_live
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError, Unreachable
from stackwright.runtime.memory import FrozenClock, MemoryCluster

SPEC = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny"}


def cluster(error=None):
    """A cluster with a cloud, whose Secrets cannot be read because of this error."""
    made = MemoryCluster(clock=FrozenClock())
    made.put(OpenStackDeployment.KIND, {"metadata": {"namespace": "openstack", "name": "cloud"}, "spec": SPEC})
    get = made.get

    async def read(kind, key):
        if error and kind == SECRET:
            raise error
        return await get(kind, key)

    made.get = read
    return made


async def test_a_secret_that_may_not_be_read_is_named_instead_of_endpoints():
    refused = TerminalError("forbidden: user jane cannot get secrets")
    told = await read_live(cluster(refused), "openstack")
    assert told is not None
    assert told.problem == str(refused)
    assert not told.endpoints


async def test_a_cloud_without_public_endpoints_has_no_public_side():
    assert await read_live(cluster(), "openstack") is None


async def test_an_api_that_does_not_respond_is_an_error_of_the_command():
    with pytest.raises(Unreachable):
        await read_live(cluster(Unreachable("no route")), "openstack")
