"""Any observation of the four controllers of resources in an OpenStack, as their `observe` may return it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.capicluster.bastion import bastion
from stackwright.controllers.capicluster.objects import parts as cluster_parts
from stackwright.controllers.capicluster.objects import wanted
from stackwright.controllers.capicluster.observe import KINDS as CLUSTER_KINDS
from stackwright.controllers.capicluster.observe import Observed as ClusterSeen
from stackwright.controllers.capicluster.resolve import resolve as resolve_cluster
from stackwright.controllers.capicluster.stages import GROUP_FIELDS
from stackwright.controllers.floatingippool.observe import KINDS as POOL_KINDS
from stackwright.controllers.floatingippool.observe import Found
from stackwright.controllers.floatingippool.observe import Observed as PoolSeen
from stackwright.controllers.infra.clusterapi import CONTROL_PLANE, claim_name
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.managed_resources import Owner, written
from stackwright.controllers.infra.server_template import ClusterDefaults, server_object, server_spec
from stackwright.controllers.machine.observe import Observed as MachineSeen
from stackwright.controllers.server.objects import parts as server_parts
from stackwright.controllers.server.observe import KINDS as SERVER_KINDS
from stackwright.controllers.server.observe import Observed as ServerSeen
from stackwright.controllers.server.observe import Pool
from stackwright.controllers.server.record import written as server_record
from stackwright.controllers.server.resolve import Resolved, resolve
from stackwright.core.objects import is_deleting
from stackwright.core.openstack.resources import CloudResource, ResourceKey, mark
from stackwright.core.plan import Object
from tests.unit.controllers.infra.decisions.specs import CLUSTER, ID, MACHINE, POOL, SERVER
from tests.unit.controllers.infra.decisions.strategies import (
    CLOUD,
    FLAG,
    FOUND,
    KEY,
    MOSTLY,
    OTHER,
    RARELY,
    UID,
    asked,
    belongings,
    lives,
    parsed,
    uuid,
)

CLAIMS = st.sampled_from([None, UID, OTHER])
MARKED = st.sampled_from(["", "", mark(OTHER, ("floating-ip", "0"))])


def times(raws: Any, model: Any, observed: Any) -> Any:
    """Some observations of one object: it is the specs that take time."""
    return raws.map(lambda raw: parsed(model, raw)).flatmap(
        lambda found: st.lists(observed(*found), min_size=4, max_size=4)
    )


@st.composite
def _server(draw: Any, obj: Object, spec: dict[str, Any]) -> ServerSeen:
    obj = draw(lives(obj))
    found = resolve(KEY[1], spec, {"a": ID} if draw(MOSTLY) else {}, draw(FOUND))
    resolved = found.value if draw(MOSTLY) else None
    record: dict[ResourceKey, str] = {}
    things: list[CloudResource] = []
    if found.value:
        keys = [part.resource_key for part in server_parts(KEY, spec, found.value)]
        former: list[ResourceKey] = [("port", "web-9"), ("trunk", "web-9"), ("volume", "old")]
        record, things = draw(belongings(keys, former)) if resolved else ({}, [])
    status = {**server_record(record), **({"resolved": resolved} if resolved else {})}
    if status["instanceID"]:
        status |= draw(st.sampled_from([{}, {"ready": True, "instanceState": "ACTIVE"}, {"ready": False}]))
    owner = draw(CLAIMS)
    claim = owner and {"metadata": {"name": claim_name(obj), "namespace": "ns", "ownerReferences": [{"uid": owner}]}}
    address = draw(st.sampled_from(["", "192.0.2.7"])) if claim else ""
    at = {"port_id": draw(st.sampled_from([None, uuid(0), "p"]))}
    lent = [CloudResource("floating-ip", "lent", mark=draw(MARKED), facts=at)]
    id_ = "lent" if address and draw(MOSTLY) else ""
    pool = Pool(claim, address, id_, draw(st.sampled_from(["", OTHER]))) if spec.get("floatingIPPoolRef") else Pool()
    known = Resolved(None) if draw(RARELY) else found
    seen = ServerSeen({**obj, "status": status}, 0.0, spec, resolved=known, pool=pool)
    kinds = (*SERVER_KINDS, "floating-ip") if pool.id else SERVER_KINDS
    return draw(asked(seen, [*things, *(lent if pool.id else [])], kinds))


READY = st.sampled_from([("True", "Ready"), ("False", "InstanceBuilding"), ("Unknown", "Waiting")])


@st.composite
def served(draw: Any, obj: Object) -> Object:
    """An OpenStackServer that is somewhere on its course, or at its end."""
    status: dict[str, Any] = draw(
        st.sampled_from(
            [
                {},
                {"ready": True, "instanceID": "s", "instanceState": "ACTIVE"},
                {"instanceID": "s", "instanceState": "BUILD"},
                {"ready": False, "instanceID": "s", "instanceState": "DELETED"},
                {"instanceID": "", "instanceState": ""},
            ]
        )
    )
    if status.get("instanceID"):
        status = {
            **status,
            "addresses": [{"type": "InternalIP", "address": "10.6.0.9"}],
            "resources": draw(st.sampled_from([{}, {"ports": [{"name": "web-0", "id": "p"}]}])),
        }
    if draw(FLAG):
        word, reason = draw(READY)
        status = {**status, "conditions": [{"type": "Ready", "status": word, "reason": reason, "message": "m"}]}
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw(RARELY) else {}
    return {**obj, "metadata": {**obj["metadata"], "uid": f"of-{obj['metadata']['name']}", **going}, "status": status}


def _foreign(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [{"kind": "X", "name": "x", "uid": OTHER}]}}


@st.composite
def _machine(draw: Any, obj: Object, spec: dict[str, Any]) -> MachineSeen:
    obj = draw(lives(obj))
    obj["metadata"]["labels"] = draw(st.sampled_from([{CLUSTER_NAME: "c"}, {CLUSTER_NAME: "c", CONTROL_PLANE: ""}, {}]))
    status = draw(st.sampled_from([{}, {"ready": True, "instanceID": "s", "initialization": {"provisioned": True}}]))
    network = draw(st.sampled_from([{}, {"id": ID, "subnets": [{"id": ID}]}]))
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw(RARELY) else {}
    cluster = {
        "metadata": {"name": "c", "namespace": "ns", "uid": "c", **going},
        "spec": {"identityRef": {"name": "clouds", "cloudName": "mine"}, "tags": ["c"]},
        "status": {"ready": draw(MOSTLY), "network": network, "workerSecurityGroup": {"id": ID}},
    }
    base = server_object(KEY, obj, server_spec(spec, ClusterDefaults({"name": "c", "cloudName": "o"}, network=ID)), "c")
    found = draw(served(base)) if draw(FLAG) else None
    owner = {"kind": "Machine", "apiVersion": "cluster.x-k8s.io/v1beta1", "name": "m", "uid": "m"}
    if draw(FLAG):
        obj["metadata"]["ownerReferences"] = [owner]
    named = {"metadata": {"name": "c"}}
    running = {**named, "spec": {}}
    top = draw(st.sampled_from([None, None, None, running, running, {**named, "spec": {"paused": True}}]))
    bootstrap = draw(st.sampled_from([{}, {"dataSecretName": "data"}]))
    return MachineSeen(
        {**obj, "status": status},
        spec,
        () if draw(MOSTLY) else ("spec.image: is required",),
        "origin" if draw(MOSTLY) else "",
        top,
        draw(st.sampled_from([None, {"spec": {"bootstrap": bootstrap, "failureDomain": "nova"}}])),
        cluster if draw(MOSTLY) else None,
        "c" if draw(MOSTLY) else "",
        _foreign(found) if found and draw(RARELY) else found,
        () if draw(MOSTLY) else ("spec.tags: takes a list",),
    )


def _member(name: str, ready: bool, labels: dict[str, str], spec: dict[str, str]) -> Object:
    meta = {"name": name, "namespace": "ns", "labels": labels}
    return {"metadata": meta, "spec": spec, "status": {"ready": ready}}


KNOWN = st.sampled_from([{}, {"providerID": "openstack:///s"}])
MACHINES = st.lists(
    st.builds(_member, st.sampled_from("mno"), FLAG, st.sampled_from([{}, {CONTROL_PLANE: ""}]), KNOWN),
    max_size=2,
    unique_by=lambda each: each["metadata"]["name"],
).map(tuple)


@st.composite
def _cluster(draw: Any, obj: Object, spec: dict[str, Any]) -> ClusterSeen:
    obj = draw(lives(obj))
    found = resolve_cluster(spec, {}, draw(FOUND))
    known = dict(found.names or {}) if draw(MOSTLY) else {}
    seen = ClusterSeen({**obj, "status": known}, 0.0, spec, found=found, machines=draw(st.just(()) | MACHINES))
    members = {each["metadata"]["name"]: draw(served(_member_server(each))) for each in seen.machines if draw(FLAG)}
    want = wanted(seen)
    keys, every = (
        [part.resource_key for part in cluster_parts(replace(want, bastion=b))] for b in (want.bastion, True)
    )
    former: list[ResourceKey] = [
        ("security-group-rule", "worker-old"),
        ("floating-ip", "api"),
        ("floating-ip", "bastion"),
    ]
    record, things = draw(belongings(keys, sorted({*former, *every} - set(keys))))
    groups = {field: {"id": ID, "name": field} for field in GROUP_FIELDS.values()}
    status = {**known, **draw(st.sampled_from([{}, groups])), **written(record)}
    status |= draw(st.sampled_from([{}, {"ready": True, "bastion": {"floatingIP": "192.0.2.1"}}]))
    at = {"port_id": draw(st.sampled_from([None, "p"]))}
    marked = draw(MARKED)
    lent = [replace(t, mark=marked, facts={**t.facts, **at}) for t in found.addresses.values()] if draw(MOSTLY) else []
    seen = replace(seen, obj={**obj, "status": status}, servers={**members, **draw(_bastions(seen, status))})
    seen = replace(seen, found=None) if is_deleting(obj) else seen
    return draw(asked(seen, [*things, *lent], CLUSTER_KINDS))


def _member_server(each: Object) -> Object:
    return {"metadata": {**each["metadata"], "ownerReferences": []}, "spec": {}}


@st.composite
def _bastions(draw: Any, seen: ClusterSeen, status: dict[str, Any]) -> dict[str, Object]:
    """The desired bastion, an older one, a foreign one, or none."""
    how = draw(st.sampled_from(["wanted", "wanted", "older", "foreign", "none"]))
    made = [action.obj for action in bastion(seen, Owner(CLOUD, UID), status).actions]
    if how == "none" or (not made and how != "older"):
        return {}
    named = {"flavor": "old", "image": {"id": ID}, "identityRef": {"name": "clouds", "cloudName": "mine"}}
    spec = {**named, "sshKeyName": "", "ports": [{"network": {"id": ID}}]}
    older = server_object((KEY[0], seen.bastion_name), seen.obj, made[0]["spec"] if made else spec, "c")
    older["metadata"]["annotations"] = {}
    found = draw(served(made[0] if made and how != "older" else older))
    return {seen.bastion_name: _foreign(found) if how == "foreign" else found}


def _claim(name: str, going: bool, told: bool) -> Object:
    meta = {"name": name, "namespace": "ns", "uid": f"claim-{name}", "creationTimestamp": name}
    status = {"addressRef": {"name": name}} if told else {}
    kind = {"apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim"}
    return {**kind, "metadata": {**meta, **({"deletionTimestamp": "t"} if going else {})}, "status": status}


PORTS = ("port-1", "port-2")
CLAIMED = st.lists(
    st.builds(_claim, st.sampled_from("pqrs"), RARELY, FLAG),
    max_size=3,
    unique_by=lambda each: each["metadata"]["name"],
).map(tuple)


@st.composite
def _pool(draw: Any, obj: Object, spec: dict[str, Any]) -> PoolSeen:
    obj = draw(lives(obj))
    keys: list[ResourceKey] = [("floating-ip", str(number)) for number in range(3)]
    record, things = draw(belongings(keys, []))
    things = [replace(t, facts={**t.facts, "floating_ip_address": f"192.0.2.{n}"}) for n, t in enumerate(things)]
    claims = draw(CLAIMED) if draw(MOSTLY) else None
    there = [f"192.0.2.{n}" for n in range(3)]
    names, others = draw(st.permutations("pqrt")), draw(st.frozensets(st.sampled_from(there), max_size=1))
    held = dict(zip(names, there[: draw(st.integers(0, 2))], strict=False)) if claims is not None else {}
    addresses = tuple(_address(name, address, draw(MOSTLY)) for name, address in held.items())
    made = {thing.facts["floating_ip_address"]: thing for thing in things}  # which the user may name later
    named = [each for each in spec["preAllocatedFloatingIPs"] if draw(MOSTLY)]
    given = {each: made.get(each) or CloudResource("floating-ip", f"given-{each}") for each in named}
    things += [replace(given[each], facts={"floating_ip_address": each}) for each in named if each not in made]
    things = [replace(t, facts={**t.facts, "port_id": draw(st.sampled_from([None, *PORTS]))}) for t in things]
    ports = draw(st.dictionaries(st.sampled_from("pqrs"), st.frozensets(st.sampled_from(PORTS), max_size=1)))
    doubled = frozenset(draw(st.sets(st.sampled_from(sorted(held)), max_size=1))) if held else frozenset()
    network = {"id": ID, "name": "public"} if draw(MOSTLY) else {}
    found = Found(network, given, problems=() if network else ("there is none",))
    status = {**written(record), **draw(st.sampled_from([{}, {"floatingIPNetwork": network}]))}
    seen = PoolSeen(
        {**obj, "status": status}, 0.0, spec,
        claims=claims, addresses=addresses, taken=others | set(held.values()), ports=ports, doubled=doubled,
        found=found,
    )  # fmt: skip
    return draw(asked(seen, things, POOL_KINDS))


def _address(name: str, address: str, its: bool) -> Object:
    owner = f"claim-{name}" if its else "claim-before"
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"of-{name}", "ownerReferences": [{"uid": owner}]},
        "spec": {"address": address, "poolRef": {"kind": "OpenStackFloatingIPPool", "name": KEY[1]}},
    }


server = times(SERVER, OpenStackServer, _server)
machine = times(MACHINE, OpenStackMachine, _machine)
cluster = times(CLUSTER, OpenStackCluster, _cluster)
pool = times(POOL, OpenStackFloatingIPPool, _pool)
