from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind, Resource
from stackwright.cli import object_names
from stackwright.cli.change.apply import _wait as apply_wait
from stackwright.cli.failures import CliError
from stackwright.cli.follow import Goal, Patience, follow
from stackwright.cli.manifests.load import Manifest
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES, WITHOUT_READY
from stackwright.controllers.catalog import controllers
from stackwright.core.plan import Key, Object
from stackwright.core.settings import Settings
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.keystone.kind import Keystone

KIND = OpenStackDeployment.KIND


def cloud(status: str = "", reason: str = "", message: str = "") -> Object:
    obj: Object = {
        "metadata": {"namespace": "openstack", "name": "cloud"},
        "spec": {"openstack_version": "epoxy", "preset": "core", "size": "single"},
    }
    if status:
        ready = {"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1}
        obj["status"] = {"conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    return obj


class Held:
    """A Reader of some objects, whose specs do not matter."""

    def __init__(self, *objects: tuple[Kind, Object]) -> None:
        self.objects = [(kind, {"kind": kind.kind, **obj}) for kind, obj in objects]

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        return [obj for each, obj in self.objects if each == kind]

    async def get(self, kind: Kind, key: Key) -> Object | None:
        return next((obj for obj in await self.list(kind) if obj["metadata"]["name"] == key[1]), None)


def named(name: str, status: Object) -> Object:
    return {"metadata": {"namespace": "openstack", "name": name, "generation": 1}, "spec": {}, **status}


class Told(list[str]):
    """The messages; each message may change the cluster, as time does."""

    def __init__(self, cluster: MemoryCluster, *then: Object | None) -> None:
        self.cluster, self.then = cluster, list(then)

    def __call__(self, text: str) -> None:
        self.append(text.strip())
        if self.then:
            following = self.then.pop(0)
            if following is None:
                self.cluster.remove(KIND, ("openstack", "cloud"))
            else:
                self.cluster.put(KIND, following)


QUICK = Patience(every=0.001, timeout=5)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time does not pass, however busy the machine is."""
    monkeypatch.setattr("stackwright.cli.follow.time", SimpleNamespace(monotonic=lambda: 100.0, time=lambda: 0.0))


async def test_each_cause_is_printed_until_the_cloud_is_ready(still: None) -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "Waiting", "MariaDB starts"))
    told = Told(cluster, cloud("False", "Waiting", "Keystone starts"), cloud("True", "Ready"))
    await follow(cluster, "openstack", None, QUICK, told)
    name = "OpenStackDeployment openstack/cloud"
    assert told == [f"0s … {name}: MariaDB starts", f"0s … {name}: Keystone starts", f"0s ✓ {name}: is ready"]


async def test_a_just_repaired_cloud_is_not_reported_as_blocked() -> None:
    """The operator may not have reconciled it yet."""
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "BlockedNoNode", "label a node"))
    told = Told(cluster, cloud("True", "Ready"))
    await follow(cluster, "openstack", "cloud", QUICK, told)
    assert told[-1].endswith("is ready")


async def test_a_block_is_reported_soon() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "BlockedNoNode", "label a node"))
    with pytest.raises(CliError, match=r"until a user acts:\n✗ OpenStackDeployment openstack/cloud .*label a node"):
        await follow(cluster, "openstack", "cloud", Patience(every=0.001, blocked=0.01), Told(cluster))
    patient = Patience(keep_waiting=True, every=0.001)
    await follow(cluster, "openstack", "cloud", patient, Told(cluster, cloud("True", "Ready")))


@pytest.mark.parametrize(("reason", "ends"), [("CredentialsInvalid", True), ("VolumeError", True), ("Paused", False)])
async def test_an_error_that_lasts_until_a_user_acts_is_a_block(reason: str, ends: bool) -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", reason, "correct it"))
    told = Told(cluster, *([] if ends else [cloud("True", "Ready")]))
    patience = Patience(every=0.001, blocked=0.01)
    with pytest.raises(CliError, match="until a user acts") if ends else nullcontext():
        await follow(cluster, "openstack", "cloud", patience, told)


async def test_a_time_out_ends_with_the_causes(still: None) -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud())
    with pytest.raises(CliError, match=r"was not ready after 0 s:\n\? .*\nNo operator runs"):
        await follow(cluster, "openstack", None, Patience(timeout=0), Told(cluster))


async def test_wait_until_deleted() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud())
    told = Told(cluster, None)
    await follow(cluster, "openstack", "cloud", Patience(Goal.DELETED, every=0.001), told)
    assert told[-1].endswith("is deleted")
    await follow(cluster, "openstack", None, Patience(Goal.DELETED), Told(cluster))


@pytest.mark.parametrize("others", [(), ("other",)])
@pytest.mark.parametrize("kinds", [(), CLOUD_KINDS, (OpenStackDeployment,)])
async def test_a_deleted_cloud_is_deleted_despite_other_objects(
    others: tuple[str, ...], kinds: tuple[type[Resource], ...]
) -> None:
    cluster = MemoryCluster()
    for name in others:
        cluster.put(KIND, {**cloud(), "metadata": {"namespace": "openstack", "name": name}})
    told = Told(cluster)
    await follow(cluster, "openstack", "cloud", Patience(Goal.DELETED, timeout=0), told, kinds)
    assert len(told) == 1 and told[0].endswith("is deleted")


async def test_the_deletion_of_a_cloud_of_either_kind_is_awaited() -> None:
    cluster = MemoryCluster()
    spec = {"secret": "osp-secret", "storageClass": ""}
    cluster.put(OpenStackControlPlane.KIND, {**cloud(), "spec": spec})
    with pytest.raises(CliError, match="OpenStackControlPlane openstack/cloud was not deleted"):
        await follow(cluster, "openstack", "cloud", Patience(Goal.DELETED, timeout=0), Told(cluster))


async def test_an_unknown_cloud_is_rejected_with_the_known_ones() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud())
    with pytest.raises(CliError, match="openstack/other; there is cloud"):
        await follow(cluster, "openstack", "other", QUICK)


async def test_nothing_to_wait_for() -> None:
    with pytest.raises(CliError, match="No cloud found in namespace openstack"):
        await follow(MemoryCluster(), "openstack", None, QUICK)


@pytest.mark.parametrize(
    "resource", [each for each in RESOURCES if each not in WITHOUT_READY], ids=lambda each: str(each.KIND)
)
async def test_every_kind_that_gets_ready_is_waited_for(resource: type[Resource]) -> None:
    kind = resource.KIND
    status = {"status": cloud("True", "Ready")["status"]}
    cluster, told = Held((kind, named("first", status)), (kind, named("second", status))), list[str]()
    for word in (kind.kind, kind.plural, *kind.short):
        kinds, name = object_names.parse(f"{word}/first", "wait for")
        await follow(cluster, "openstack", name, QUICK, told.append, kinds)
        assert told.pop().strip() == f"0s ✓ {kind.kind} openstack/first: is ready"
    kinds, name = object_names.parse(f"{kind.kind}/other", "wait for")
    with pytest.raises(CliError, match=f"No {kind.kind} other found in namespace openstack"):
        await follow(cluster, "openstack", name, QUICK, told.append, kinds)
    await follow(cluster, "openstack", name, Patience(Goal.DELETED), told.append, kinds)


async def test_causes_of_a_service_are_those_below_it() -> None:
    blocked = {"status": cloud("False", "BlockedFailed", "Release x failed: lots")["status"]}
    cluster = Held((Keystone.KIND, named("keystone", blocked)))
    kinds, name = object_names.parse("keystone/keystone", "wait for")
    with pytest.raises(CliError, match=r"Keystone openstack/keystone is blocked until a user acts:\n✗ Keystone .*lots"):
        await follow(cluster, "openstack", name, Patience(every=0.001, blocked=0.01), lambda _: None, kinds)


def test_kinds_without_a_condition_ready_and_unknown_ones_are_refused() -> None:
    for name in ("cloud", None):
        assert object_names.parse(name, "wait for") == (CLOUD_KINDS, name)
    with pytest.raises(CliError, match="so stackwright cannot wait for it"):
        object_names.parse("openstackmachinetemplate/workers", "wait for")
    with pytest.raises(CliError, match=r"unknown kind 'keystne'; did you mean Keystone\? allowed: .*MariaDB"):
        object_names.parse("keystne/keystone", "wait for")


def test_every_kind_with_a_ready_condition_can_be_awaited() -> None:
    made = {controller.kind for controller in controllers(Settings({}, {}))}
    assert {resource.KIND for resource in RESOURCES if resource not in WITHOUT_READY} == made


async def test_apply_waits_for_each_object_within_one_time() -> None:
    states = ((Keystone.KIND, "keystone", "True"), (OpenStackServer.KIND, "web", "False"))
    cluster: Any = Held(
        *(
            (kind, named(name, {"status": cloud(state, "Waiting", "Nova builds it")["status"]}))
            for kind, name, state in states
        )
    )
    manifests = [
        Manifest(kind, {"metadata": {"namespace": "openstack", "name": name}})
        for kind, name in ((SECRET, "s"), (Keystone.KIND, "keystone"), (OpenStackServer.KIND, "web"))
    ]
    with pytest.raises(CliError, match="OpenStackServer openstack/web was not ready"):
        await apply_wait(cluster, manifests, 0.01)


async def test_the_time_of_apply_is_that_of_all_objects_together(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now

    async def follow(*words: Any) -> None:
        left.append(words[3].timeout)
        clock.now += 40

    monkeypatch.setattr("time.monotonic", clock.monotonic)
    monkeypatch.setattr("stackwright.cli.follow.follow", follow)
    manifests = [Manifest(Keystone.KIND, {"metadata": {"namespace": "n", "name": name}}) for name in "abc"]
    await apply_wait(Held(), manifests, 60)  # type: ignore[arg-type]
    assert left == [60, 20, 0]


async def test_a_control_plane_is_waited_for_as_well() -> None:
    cluster = MemoryCluster()
    ready = cloud("True", "Ready")["status"]
    spec = {"secret": "osp-secret", "storageClass": ""}
    cluster.put(OpenStackControlPlane.KIND, {**cloud(), "spec": spec, "status": ready})
    told = Told(cluster)
    await follow(cluster, "openstack", "cloud", QUICK, told)
    assert told == ["0s ✓ OpenStackControlPlane openstack/cloud: is ready"]


class Clock:
    """Each look takes a second."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.5
        return self.now

    def time(self) -> float:
        return 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("stackwright.cli.follow.time", made)
    return made


async def test_only_the_time_counts_in_which_it_is_blocked(clock: Clock) -> None:
    """Independent of earlier waits."""
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "Waiting", "0"))
    waiting = [cloud("False", "Waiting", str(number)) for number in range(1, 20)]
    told = Told(cluster, *waiting, cloud("False", "BlockedNoNode", "label a node"), cloud("True", "Ready"))
    await follow(cluster, "openstack", "cloud", Patience(every=0, blocked=5), told)
    assert len(told) == 22
    assert clock.now > 20


async def test_a_recreated_cloud_is_not_the_awaited_one() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "Waiting", "MariaDB starts"))
    told: list[str] = []

    def anew(text: str) -> None:
        told.append(text)
        if len(told) == 1:
            cluster.remove(KIND, ("openstack", "cloud"))
            cluster.put(KIND, cloud("True", "Ready"))

    with pytest.raises(CliError, match="is blocked until a user acts"):
        await follow(cluster, "openstack", "cloud", Patience(every=0.001, blocked=0.01), anew)
    assert told[-1].endswith("it was deleted")


async def test_errors_of_an_earlier_spec_do_not_count(clock: Clock) -> None:
    changed = named("cloud", {"status": cloud("False", "BlockedSpec", "no such chart")["status"]})
    changed["metadata"]["generation"] = 2
    told: list[str] = []
    with pytest.raises(CliError, match="was not ready after"):
        patience = Patience(every=0, blocked=5, timeout=20)
        await follow(Held((KIND, changed)), "openstack", "cloud", patience, told.append)
    assert told[-1].endswith("the operator has not processed its last change yet")
