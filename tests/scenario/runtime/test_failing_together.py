"""Objects that fail at the same time do not wake each other: each is retried with backoff."""

import asyncio
import itertools
from collections import Counter

import pytest

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.core.conditions import find
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.errors import TerminalCloudError
from stackwright.services.glance.kind import Glance
from stackwright.services.keystone.kind import Keystone
from tests.scenario.capi_world import BASTION, MACHINES, SERVERS, Clusters
from tests.scenario.world import World, ready_world

pytestmark = pytest.mark.looptime

WEBHOOK = 'failed calling webhook "v.example": failed to call webhook: Post "https://v.example.svc:443/v": '
SERVICES = {"services": ["image"]}
SECONDS = 60
# Backoff from 0.5 s, doubled: seven attempts a minute. Each of two services may be woken a few more times.
MOST = 2 * 10
# Messages that no pattern matches; a list of patterns can never be complete.
MESSAGES = (
    "read tcp [fd00::5]:{0}->[fd00::9]:443: read: connection reset by peer",
    "http2: server sent GOAWAY and closed the connection; LastStreamID={0}, ErrCode=NO_ERROR",
    "admission webhook denied the request: evaluated in {0}us",
)


def failing(world: World, refused, fail) -> list[tuple[str, float]]:
    """Let writes of a kind fail from now on. Returns the writers with their times."""
    attempts: list[tuple[str, float]] = []
    real = world.cluster.apply

    async def apply(kind, obj, manager):
        error = fail(obj["metadata"]["name"], 30_000 + len(attempts)) if kind == refused else None
        if error is None:
            return await real(kind, obj, manager)
        attempts.append((obj["metadata"]["name"], asyncio.get_running_loop().time()))
        assert len(attempts) < 400, "there is no pause between attempts"
        raise error

    world.cluster.apply = apply
    return attempts


def change_both(world: World) -> None:
    def two(chart, component):
        return {chart: {"values": {"pod": {"replicas": {component: 2}}}}}

    world.cloud(features=SERVICES, services={"identity": two("keystone", "api"), "image": two("glance", "api")})


@pytest.mark.parametrize("error", [TerminalError, TransientError])
@pytest.mark.parametrize("message", MESSAGES)
async def test_services_whose_messages_differ_at_each_attempt_do_not_wake_each_other(message, error):
    world = await ready_world(features=SERVICES)
    attempts = failing(world, HelmBundle.KIND, lambda name, number: error(WEBHOOK + message.format(number)))
    change_both(world)
    await world.run(SECONDS)
    tried = Counter(name for name, _ in attempts)
    assert set(tried) == {"openstack-keystone", "openstack-glance"}
    assert tried.total() <= MOST, tried


async def test_a_cluster_and_its_machines_whose_messages_differ_at_each_attempt_do_not_wake_each_other():
    world = Clusters()
    world.make()
    await world.ready()
    attempts = failing(world, SERVERS, lambda name, number: TransientError(WEBHOOK + MESSAGES[0].format(number)))
    world.make(bastion=BASTION)
    world.machine()
    await world.run(SECONDS)
    tried = Counter(name for name, _ in attempts)
    assert len(tried) == 2, tried
    assert tried.total() <= MOST, tried
    assert "connection reset" in world.told()[1] and "connection reset" in world.told(kind=MACHINES, name="m")[1]


async def test_a_machine_that_repeats_a_message_of_its_cluster_does_not_wake_it():
    """The cluster then lists its cloud, whose message differs each time."""
    world = Clusters()
    looks = itertools.count(1)

    async def answer(cloud):
        number = next(looks)
        assert number < 400, "there is no pause between looks"
        raise TerminalCloudError("Forbidden", f"evaluated in {number}us")

    world.clouds._answer = answer
    world.make()
    for name in ("m0", "m1", "m2"):
        world.machine(name)
    await world.run(SECONDS)
    assert 2 <= next(looks) <= MOST
    assert "evaluated in" in world.told(kind=MACHINES, name="m0")[1]


async def test_a_failed_service_is_retried_at_once_when_another_reports_a_new_reason():
    """The delay of its own retry is half a minute by then."""
    world = await ready_world(features=SERVICES)
    mended: list[float] = []

    def fail(name, number):
        return None if mended and name == "openstack-keystone" else TransientError(MESSAGES[0].format(number))

    attempts = failing(world, HelmBundle.KIND, fail)
    told: list[float] = []
    real = world.cluster.apply_status

    async def apply_status(kind, obj, manager):
        before = find(world.get(Keystone.KIND, "keystone"))
        answer = await real(kind, obj, manager)
        after = find(answer)
        if kind == Keystone.KIND and mended and any(before[name] != after[name] for name in ("status", "reason")):
            told.append(asyncio.get_running_loop().time())
        return answer

    world.cluster.apply_status = apply_status
    change_both(world)
    await world.run(40)
    mended.append(asyncio.get_running_loop().time())
    await world.run(90)
    assert len(told) >= 2 and world.ready(world.get(Keystone.KIND, "keystone"))
    assert not world.ready(world.get(Glance.KIND, "glance"))
    tried = [when for name, when in attempts if name == "openstack-glance" and when >= mended[0]]
    for moment in told:
        assert any(moment <= when < moment + 1 for when in tried), (told, tried)
