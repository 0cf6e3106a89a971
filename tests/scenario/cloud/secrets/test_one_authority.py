"""All certificates of a cloud are issued by one CA, in any case of loss; without a change nothing is written."""

import base64
import time

import pytest

from stackwright.api.kinds import SECRET
from stackwright.core.objects import AUTHORITY, secret_data
from stackwright.runtime import x509
from stackwright.services.context import CLOUD_AUTHORITY
from tests.scenario.world import NAMESPACE, UNREADY, World

pytestmark = pytest.mark.looptime


async def whole_cloud():
    world = World(nodes=2)
    world.cloud(whole=True)
    await world.settle()
    assert world.ready()
    return world


async def certificates(world):
    """Name of each certificate of the cloud and of its CA → the trusted CA, and the certificate."""
    found = [(each["metadata"]["name"], secret_data(each)) for each in await world.cluster.list(SECRET, NAMESPACE)]
    return {name: (data["ca.crt"], data.get("tls.crt")) for name, data in found if "ca.crt" in data}


def trusted(found):
    return {authority for authority, _ in found.values()}


def forget(world, *names):
    """Remove the notes of CAs from these certificates, as earlier versions created them."""
    for name in names:
        obj = world.get(SECRET, name)
        notes = {note: text for note, text in obj["metadata"]["annotations"].items() if note != AUTHORITY}
        world.cluster.put(SECRET, {**obj, "metadata": {**obj["metadata"], "annotations": notes}})


def of_another(world, name):
    """A certificate that was issued by a former CA."""
    obj, issuer = world.get(SECRET, name), x509.authority("lost", time.time())
    made, _ = x509.issue(issuer, [name], [], time.time())
    world.cluster.put(
        SECRET, {**obj, "data": {field: base64.b64encode(text.encode()).decode() for field, text in made.items()}}
    )


async def test_a_deleted_and_recreated_ca_issues_all_certificates():
    world = await whole_cloud()
    before = await certificates(world)
    assert len(before) > 3 and len(trusted(before)) == 1
    world.cluster.remove(SECRET, (NAMESPACE, CLOUD_AUTHORITY))
    await world.run(7200)
    rest = {name: each for name, each in before.items() if name != CLOUD_AUTHORITY}
    assert await certificates(world) == rest, "they serve as long as none has to be made"
    world.cluster.remove(SECRET, (NAMESPACE, "nova-novncproxy-tls"))
    await world.settle()
    after = await certificates(world)
    assert after.keys() == before.keys() and len(trusted(after)) == 1 and trusted(after) != trusted(before)
    assert world.ready()
    await at_rest(world)
    assert await certificates(world) == after


async def test_one_of_two_cas_of_an_earlier_version_remains():
    world = await whole_cloud()
    before = await certificates(world)
    await world.stop()
    forget(world, *(name for name in before if name != CLOUD_AUTHORITY))
    of_another(world, "nova-novncproxy-tls")
    await world.settle()
    after = await certificates(world)
    assert trusted(after) == trusted(before), "that which is kept"
    assert [name for name in after if after[name] != before[name]] == ["nova-novncproxy-tls"]
    assert world.ready()
    await at_rest(world)
    assert await certificates(world) == after


async def test_a_release_that_is_not_ready_keeps_no_certificate_of_another_authority():
    """The release runs pods after a rollback."""
    world = await whole_cloud()
    world.kubelet.broken["nova-compute"] = UNREADY
    debug = {"conf": {"nova": {"DEFAULT": {"debug": True}}}}
    world.cloud(whole=True, services={"compute": {"nova": {"values": debug}}})
    await world.run(3600)
    assert not world.ready()
    for name in (CLOUD_AUTHORITY, "libvirt-tls"):
        world.cluster.remove(SECRET, (NAMESPACE, name))
    await world.run(600)
    after = await certificates(world)
    assert not world.ready()
    assert "nova-novncproxy-tls" in after and len(trusted(after)) == 1
    await at_rest(world)


async def test_a_note_at_the_authority_has_no_certificate_issued():
    world = await whole_cloud()
    before = await certificates(world)
    obj = world.get(SECRET, CLOUD_AUTHORITY)
    notes = {**(obj["metadata"].get("annotations") or {}), "backup": "done"}
    world.cluster.put(SECRET, {**obj, "metadata": {**obj["metadata"], "annotations": notes}})
    await world.settle()
    assert await certificates(world) == before
    await at_rest(world)


async def at_rest(world):
    writes = world.writes
    await world.run(7200)
    await world.stop()
    await world.run(7200)
    assert world.writes == writes


async def test_a_note_does_not_replace_a_ca_without_its_key():
    """An earlier version recorded no CA; the first reconcile of this version may only add the notes."""
    world = await whole_cloud()
    before = await certificates(world)
    await world.stop()
    forget(world, *(name for name in before if name != CLOUD_AUTHORITY))
    obj = world.get(SECRET, CLOUD_AUTHORITY)
    data = {name: value for name, value in obj["data"].items() if name != "ca.key"}
    world.cluster.put(SECRET, {**obj, "data": data})
    await world.run(600)
    assert await certificates(world) == before
    assert all(
        AUTHORITY in world.get(SECRET, name)["metadata"]["annotations"] for name in before if name != CLOUD_AUTHORITY
    )
