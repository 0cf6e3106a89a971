"""The exchange with Ceph: requests, provided keys, conditions, and the Secrets of clients."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.crd import crd
from stackwright.api.services.contracts import CephClient
from stackwright.controllers.ceph.decide import decide, request
from stackwright.controllers.ceph.observe import Observed
from stackwright.controllers.cephclient import controller
from stackwright.controllers.cephclient.decide import REFRESH
from stackwright.controllers.cephclient.decide import decide as client
from stackwright.controllers.cephclient.observe import Observed as ClientSeen
from stackwright.core.objects import key_of
from stackwright.core.plan import Apply, Delete, Finalizer
from stackwright.core.secrets.writes import CephAccess, GatherSecret
from stackwright.services.ceph.features import CephSettings

CEPH: dict[str, Any] = {
    "apiVersion": "stackwright.dev/v1alpha1",
    "kind": "Ceph",
    "metadata": {"namespace": "openstack", "name": "ceph", "uid": "u1"},
    "spec": {"publicDomain": "cloud.example"},
}
OURS = {**CEPH, "metadata": {**CEPH["metadata"], "finalizers": ["stackwright.dev/finalizer"]}}
GOING = {**OURS, "metadata": {**OURS["metadata"], "deletionTimestamp": "2026-11-22T00:00:00Z"}}
TRIAL, ELSEWHERE = CephSettings(trial=True), CephSettings()
POOLS = [{"name": "vms", "role": "vms"}, {"name": "images", "role": "images", "readOnly": True}]
SPEC = {"instance": "ceph", "client": "nova", "pools": POOLS, "options": {}, "secretName": "nova-ceph"}
NOVA: dict[str, Any] = {
    "apiVersion": "stackwright.dev/v1alpha1",
    "kind": "CephClient",
    "metadata": {"namespace": "openstack", "name": "nova", "uid": "u2"},
    "spec": SPEC,
}


ASKED: dict[str, Any] = {"metadata": {"annotations": {"stackwright.dev/owner": "openstack/ceph"}}}


def secret(name: str, *fields: str, version: str = "1") -> dict[str, Any]:
    meta = {"namespace": "openstack", "name": name, "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": meta, "data": dict.fromkeys(fields, "")}


def test_a_client_may_write_its_pools_and_only_read_others() -> None:
    asked = request(SPEC)
    assert asked["caps"] == {"mon": "profile rbd", "osd": "profile rbd pool=vms, profile rbd-read-only pool=images"}
    assert [pool["name"] for pool in asked["pools"]] == ["vms", "images"]


def test_requests_to_our_own_ceph_are_in_its_namespace_and_are_deleted_with_it() -> None:
    action, health = decide(Observed(CEPH, TRIAL, (NOVA,))).actions
    assert isinstance(action, Apply) and isinstance(health, Apply)
    # The label makes the operator watch changes, which the watch pod writes.
    assert health.obj["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "stackwright"}
    assert health.obj["metadata"]["ownerReferences"][0]["uid"] == "u1"
    assert "data" not in health.obj
    meta = action.obj["metadata"]
    assert (meta["namespace"], meta["name"]) == ("openstack", "openstack-ceph-requests")
    assert meta["ownerReferences"][0]["uid"] == "u1"
    assert set(json.loads(action.obj["data"]["requests.json"])["clients"]) == {"nova"}
    assert decide(Observed(CEPH, TRIAL, (NOVA,), requests=action.obj, health=health.obj)).actions == ()


def test_requests_to_an_external_ceph_are_in_the_shared_namespace_and_are_withdrawn_at_the_end() -> None:
    finalizer, action, _ = decide(Observed(CEPH, ELSEWHERE, (NOVA,))).actions
    assert isinstance(finalizer, Finalizer) and finalizer.present
    assert isinstance(action, Apply) and "ownerReferences" not in action.obj["metadata"]
    assert action.obj["metadata"]["namespace"] == "openstack-ceph-shared"
    delete, gone = decide(Observed(GOING, ELSEWHERE, requests=action.obj)).actions
    assert isinstance(delete, Delete) and delete.key == ("openstack-ceph-shared", "openstack-ceph-requests")
    assert isinstance(gone, Finalizer) and not gone.present


SOURCES = {"ceph-rgw-keystone": secret("ceph-rgw-keystone"), "openstack-public-tls": secret("openstack-public-tls")}


def test_two_clouds_do_not_overwrite_their_requests_to_one_external_ceph() -> None:
    """Their pools, users and Secrets have the same names."""
    asked = next(each for each in decide(Observed(OURS, ELSEWHERE, (NOVA,))).actions if isinstance(each, Apply)).obj
    assert decide(Observed(OURS, ELSEWHERE, (NOVA,), requests=asked, health={"metadata": {}})).actions == ()
    other = {**OURS, "metadata": {**OURS["metadata"], "namespace": "second", "uid": "u3"}}
    given = {"metadata": {"namespace": "openstack-ceph-shared", "name": "openstack-rgw-creds"}}
    seen = Observed(other, ELSEWHERE, requests=asked, gateway=CEPH, sources=SOURCES, credentials=given)
    plan = decide(seen)
    assert plan.actions == ()
    assert plan.requeue, "the other one may go"
    (condition,) = plan.conditions
    assert (condition.type, condition.reason) == ("Exchange", "BlockedTaken")
    assert (
        "ConfigMap openstack-ceph-shared/openstack-ceph-requests belongs to Ceph openstack/ceph;" in condition.message
    )
    assert "features.ceph.shared_namespace" in condition.message
    going = {**other, "metadata": {**other["metadata"], "deletionTimestamp": "2026-11-22T00:00:00Z"}}
    (gone,) = decide(Observed(going, ELSEWHERE, requests=asked, credentials=given)).actions
    assert isinstance(gone, Finalizer) and not gone.present


def test_requests_of_an_earlier_version_are_adopted() -> None:
    asked = next(each for each in decide(Observed(OURS, ELSEWHERE, (NOVA,))).actions if isinstance(each, Apply)).obj
    notes = {name: text for name, text in asked["metadata"]["annotations"].items() if name != "stackwright.dev/owner"}
    before = {**asked, "metadata": {**asked["metadata"], "annotations": notes}}
    (again,) = decide(Observed(OURS, ELSEWHERE, (NOVA,), requests=before, health={"metadata": {}})).actions
    assert isinstance(again, Apply) and again.obj == asked


def test_another_cloud_cannot_use_the_namespace_of_our_own_ceph() -> None:
    """Another cloud that names this namespace for its Ceph waits, whichever cloud is older."""
    named = CephSettings(shared_namespace="openstack")
    second = {**OURS, "metadata": {**OURS["metadata"], "namespace": "second", "uid": "u3"}}
    asked = next(each for each in decide(Observed(second, named)).actions if isinstance(each, Apply)).obj
    (mine,) = decide(Observed(CEPH, TRIAL, (NOVA,), requests=asked, health={"metadata": {}})).actions
    assert isinstance(mine, Apply) and mine.obj["metadata"]["annotations"]["stackwright.dev/owner"] == "openstack/ceph"
    assert decide(Observed(second, named, requests=mine.obj)).conditions[0].reason == "BlockedTaken"


def test_an_external_gateway_gets_its_user_of_keystone_and_the_certificate() -> None:
    seen = Observed(OURS, ELSEWHERE, gateway=CEPH, sources=SOURCES)
    (given,) = [action for action in decide(seen).actions if isinstance(action, GatherSecret)]
    assert given.key == ("openstack-ceph-shared", "openstack-rgw-creds")
    assert given.source == "openstack" and given.owner is None
    assert given.fixed["public_domain"] == "cloud.example"
    assert {"auth_url", "username", "password", "ca_cert", "tls_crt", "tls_key"} <= set(given.fields)
    missing = Observed(OURS, ELSEWHERE, gateway=CEPH, sources={**SOURCES, "ceph-rgw-keystone": None})
    assert not [action for action in decide(missing).actions if isinstance(action, GatherSecret)]


def test_observations_of_the_watch_become_conditions() -> None:
    entry = {"type": "Capacity", "status": False, "reason": "PoolFull", "message": "pool volumes is full"}
    health = {"data": {"health.json": json.dumps({"conditions": [entry]})}}
    told = {c.type: c for c in decide(Observed(CEPH, TRIAL, health=health)).conditions}
    assert (told["Capacity"].status, told["Capacity"].reason) == (False, "PoolFull")
    assert told["Exchange"].status
    broken = {"data": {"health.json": "{"}}
    assert [c.type for c in decide(Observed(CEPH, TRIAL, health=broken)).conditions] == ["Exchange"]


def client_of(keys: Any = None, made: Any = None, trial: bool = False) -> ClientSeen:
    return ClientSeen(NOVA, TRIAL if trial else ELSEWHERE, keys, ASKED, made)


def test_a_client_waits_by_name_for_missing_data_from_ceph() -> None:
    plan = client(client_of())
    assert plan.conditions[0].message == (
        "Waiting for Secret openstack-ceph-shared/openstack-ceph-keys of Ceph: it does not exist; "
        "the request is in ConfigMap openstack-ceph-shared/openstack-ceph-requests"
    )
    assert plan.requeue
    plan = client(client_of(secret("openstack-ceph-keys", "mon_endpoints", "glance")))
    assert "it lacks nova;" in plan.conditions[0].message


@pytest.mark.parametrize("made", [None, {"metadata": {"annotations": {}}}])
def test_a_client_gets_no_keys_of_another_clouds_exchange(made: Any) -> None:
    """They have the names of its own clients."""
    keys = secret("openstack-ceph-keys", "mon_endpoints", "nova")
    foreign = {"metadata": {"annotations": {"stackwright.dev/owner": "second/ceph"}}}
    plan = client(replace(client_of(keys, made), requests=foreign))
    assert plan.actions == () and plan.requeue == REFRESH, "the other cloud may go"
    assert plan.conditions[0].reason == "BlockedTaken"
    assert (
        "ConfigMap openstack-ceph-shared/openstack-ceph-requests belongs to Ceph second/ceph;"
        in plan.conditions[0].message
    )
    for unclaimed in (None, {"metadata": {}}):
        plan = client(replace(client_of(keys, made), requests=unclaimed))
        assert plan.actions == () and plan.requeue, "nobody may take keys before the owner is known"
        assert plan.conditions[0].reason == "WaitingForCeph"
        assert "does not name Ceph openstack/ceph as its owner" in plan.conditions[0].message
    other_instance = {**NOVA, "spec": {**SPEC, "instance": "another"}}
    assert client(replace(client_of(keys, made), obj=other_instance)).conditions[0].reason == "BlockedTaken"


def test_a_client_gets_its_secret_and_again_when_the_keys_change() -> None:
    keys = secret("openstack-ceph-keys", "mon_endpoints", "nova")
    (action,) = client(client_of(keys)).actions
    assert isinstance(action, CephAccess)
    made = {"metadata": {"annotations": {"stackwright.dev/digest": action.digest}}}
    plan = client(client_of(keys, made))
    assert plan.actions == () and plan.conditions[0].status
    assert plan.requeue == REFRESH, "somebody else's Secret is not watched"
    assert client(client_of(keys, made, trial=True)).requeue is None
    newer = secret("openstack-ceph-keys", "mon_endpoints", "nova", version="2")
    assert client(client_of(newer, made)).actions


def test_a_client_gets_a_new_secret_when_the_secret_of_keys_changes() -> None:
    """After a restore of a backup it may have the version of the former one."""
    keys = secret("openstack-ceph-keys", "mon_endpoints", "nova")
    (action,) = client(client_of(keys)).actions
    assert isinstance(action, CephAccess)
    made = {"metadata": {"annotations": {"stackwright.dev/digest": action.digest}}}
    assert client(client_of({**keys, "metadata": {**keys["metadata"], "uid": "another"}}, made)).actions


def named(name: str, since: str, **spec: Any) -> dict[str, Any]:
    meta = {"namespace": "openstack", "name": name, "uid": f"uid-{name}", "creationTimestamp": since}
    return {**NOVA, "metadata": meta, "spec": {**SPEC, **spec}}


def asked_for(*clients: dict[str, Any]) -> dict[str, Any]:
    asked = next(each for each in decide(Observed(CEPH, TRIAL, clients)).actions if isinstance(each, Apply)).obj
    found: dict[str, Any] = json.loads(asked["data"]["requests.json"])["clients"]
    return found


OLDER = named("nova", "2026-01-01T00:00:00Z")
YOUNGER = named("also", "2026-01-02T00:00:00Z", pools=[{"name": "scratch", "role": "other"}], secretName="mine")


def test_a_client_belongs_to_the_oldest_object_that_names_it() -> None:
    """A second one would take away the rights of the first, or get its key."""
    assert asked_for(OLDER, YOUNGER) == asked_for(YOUNGER, OLDER) == asked_for(OLDER)
    keys = secret("openstack-ceph-keys", "mon_endpoints", "nova")
    seen = client_of(keys)
    plan = client(replace(seen, obj=YOUNGER, others=(OLDER,)))
    assert plan.actions == ()
    assert plan.conditions[-1].reason == "BlockedTaken"
    assert "client nova of Ceph ceph belongs to CephClient nova;" in plan.conditions[-1].message
    assert client(replace(seen, obj=OLDER, others=(YOUNGER,))).actions
    elsewhere = named("also", "2026-01-02T00:00:00Z", client="other")
    told = client(replace(seen, obj=elsewhere, others=(OLDER,))).conditions
    assert told[-1].message.startswith("Secret nova-ceph belongs to CephClient nova;")


INVALID = named("bad", "2025-01-01T00:00:00Z", pools=[])
BLOCKED = named("blocked", "2026-01-03T00:00:00Z", client="other")  # its Secret is that of OLDER
BEHIND = named("behind", "2026-01-04T00:00:00Z", client="other", secretName="mine-too")
GOING_CLIENT = {**OLDER, "metadata": {**OLDER["metadata"], "deletionTimestamp": "2026-11-22T00:00:00Z"}}
ELSEWHERE_CLIENT = named("elsewhere", "2025-01-01T00:00:00Z", instance="another", client="another", secretName="mine")


@pytest.mark.parametrize(
    ("there", "served"),
    [
        ((OLDER, YOUNGER), {"nova": "nova"}),
        ((INVALID, OLDER), {"nova": "nova"}),
        ((OLDER, BLOCKED), {"nova": "nova"}),
        ((OLDER, BLOCKED, BEHIND), {"nova": "nova"}),
        ((BLOCKED, BEHIND), {"other": "blocked"}),
        ((GOING_CLIENT, YOUNGER), {}),
        ((YOUNGER, ELSEWHERE_CLIENT), {}),
    ],
)
def test_who_is_asked_for_is_who_gets_the_key(there: tuple[Any, ...], served: dict[str, str]) -> None:
    """Also beside objects that are not valid, are blocked or are going."""
    assert asked_for(*there).keys() == served.keys()
    keys = secret("openstack-ceph-keys", "mon_endpoints", "nova", "other")
    for each in there:
        others = tuple(other for other in there if other is not each)
        plan = client(replace(client_of(keys), obj=each, others=others))
        mine = each["spec"]["instance"] == "ceph"
        name, user = each["metadata"]["name"], each["spec"]["client"]
        assert not mine or bool(plan.actions) == (served.get(user) == name), name


async def test_a_client_is_queued_when_others_with_the_same_name_change() -> None:
    every = {key_of(each): each for each in (OLDER, YOUNGER)}
    watch, look = controller().watches[0], controller().observe

    class Cluster:
        async def get(self, kind: Any, key: Any) -> Any:
            return every.get(key)

        async def list(self, kind: Any, namespace: str = "", labels: Any = None) -> Any:
            return list(every.values())

    seen = await look(Cluster(), key_of(YOUNGER), 0.0)
    assert seen.others == (OLDER,)
    assert watch.kind.kind == "CephClient"
    for each in every.values():
        woken = list(watch.keys(each, lambda kind, namespace: list(every.values())))
    assert woken == []
    assert list(watch.keys(OLDER, lambda kind, namespace: list(every.values()))) == [key_of(YOUNGER)]


@pytest.mark.parametrize("name", ["admin", "rgw", "mon", "osd", "bootstrap-osd", "csi-rbd-node"])
def test_a_reserved_user_of_ceph_is_rejected_and_causes_no_request(name: str) -> None:
    schema = crd(CephClient)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    rules = schema["properties"]["spec"]["properties"]["client"]["x-kubernetes-validations"]
    assert any(f"'{name}'" in rule["rule"] for rule in rules)
    reserved = named("x", "2026-01-01T00:00:00Z", client=name)
    assert asked_for(reserved, OLDER).keys() == {"nova"}
    assert client(ClientSeen(reserved)).conditions[-1].reason == "BlockedInvalidSpec"


def test_a_client_that_is_deleted_causes_no_request() -> None:
    going = {**NOVA, "metadata": {**NOVA["metadata"], "deletionTimestamp": "2026-11-22T00:00:00Z"}}
    asked = next(each for each in decide(Observed(CEPH, TRIAL, (going,))).actions if isinstance(each, Apply)).obj
    assert json.loads(asked["data"]["requests.json"]) == {"clients": {}}
