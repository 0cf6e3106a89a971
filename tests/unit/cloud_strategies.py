"""Any observation of the four controllers that have to do with an OpenStack, as their `observe` may hand it over.

What is in the cloud is well at first, as far as it came; then a few things are as they never should be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cloud_specs import CLUSTER, ID, MACHINE, POOL, SERVER
from hypothesis import assume
from hypothesis import strategies as st

from stackwright.api.openstackcluster import OpenStackCluster
from stackwright.api.openstackfloatingippool import OpenStackFloatingIPPool
from stackwright.api.openstackmachine import OpenStackMachine
from stackwright.api.openstackserver import OpenStackServer
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
from stackwright.controllers.machine.observe import Observed as MachineSeen
from stackwright.controllers.server.objects import parts as server_parts
from stackwright.controllers.server.observe import KINDS as SERVER_KINDS
from stackwright.controllers.server.observe import Observed as ServerSeen
from stackwright.controllers.server.observe import Pool
from stackwright.controllers.server.record import written as server_record
from stackwright.controllers.server.resolve import Resolved, resolve
from stackwright.core.belongings import Owner, listed
from stackwright.core.clouds import CloudRef, Denied, Look, Question, Slot, Thing, Trouble, mark
from stackwright.core.clusterapi import CONTROL_PLANE, claim_name
from stackwright.core.clusterapi import NAME as CLUSTER_NAME
from stackwright.core.machines import Place, server_object, server_spec
from stackwright.core.objects import FINALIZER, owner_reference
from stackwright.core.plan import Object
from stackwright.core.seen import troubled

UID = "5b6c1d0e-0000-4000-8000-000000000001"
OTHER = "5b6c1d0e-0000-4000-8000-000000000002"
CLOUD = CloudRef(("ns", "clouds"), "mine")
KEY = ("ns", "web")
FLAG = st.booleans()
RARELY = st.sampled_from([False] * 9 + [True])
MOSTLY = RARELY.map(lambda rare: not rare)
STATES = st.sampled_from(
    ["", "ACTIVE", "BUILD", "ERROR", "SHUTOFF", "DELETED", "SOFT_DELETED", "deleting", "error", "creating", "odd"]
)
TROUBLE = st.sampled_from(
    [
        Trouble("AuthenticationFailed", "HTTP 401"),
        Trouble("IdentityNotFound", "it does not exist"),
        Denied("IdentityAccessDenied", "not this namespace"),
        Trouble("Unreachable", "timed out", 30.0),
        Denied("Forbidden", "HTTP 403"),
    ]
)
WELL = {"server": "ACTIVE", "volume": "in-use", "router": "ACTIVE", "network": "ACTIVE", "floating-ip": "DOWN"}
FACTS: dict[str, list[dict[str, Any]]] = {
    "server": [
        {"task_state": None, "addresses": {"net": [{"addr": "10.0.0.5"}]}, "metadata": {"a": "1", "b": "2"}},
        {"metadata": {}, "tags": []},
        {"task_state": "deleting", "fault": "No valid host"},
    ],
    "port": [
        {},
        {"device_id": "", "admin_state_up": False, "tags": [], "security_groups": [], "allowed_address_pairs": []},
    ],
    "subnet": [
        {"cidr": "10.6.0.0/24", "dns_nameservers": [], "tags": []},
        {"network_id": "n", "tags": ["a", "b", "c"]},
    ],
    "router": [{"external_gateway_info": {"external_fixed_ips": [{"ip_address": "192.0.2.254"}]}}],
    "floating-ip": [{"floating_ip_address": "192.0.2.1", "port_id": None}, {"port_id": ID, "tags": []}],
}


class Everything(dict[Question, tuple[Thing, ...]]):
    """Answers each question with as many things."""

    def __init__(self, count: int) -> None:
        self._count = count

    def get(self, asked: Question, default: Any = None) -> Any:
        what, facts = asked.what, {"network_id": ID, "floating_ip_address": "192.0.2.9"}
        return tuple(Thing(what, id_, "found", facts=facts) for id_ in (ID, OTHER)[: self._count])


FOUND = st.sampled_from([1] * 9 + [0, 2]).map(Everything)
HOW = ("absent", "lost", "marked", "unmarked", "twice", "twins", "ill", "foreign", "its")


def uuid(number: int) -> str:
    return f"00000000-0000-4000-9000-{number:012d}"


def thing(slot: Slot, id_: str, state: str = "", uid: str = UID, **facts: Any) -> Thing:
    return Thing(slot[0], id_, slot[1], state, mark(uid, slot) if uid else "", facts)


@st.composite
def belongings(draw: Any, slots: list[Slot], former: list[Slot]) -> tuple[dict[Slot, str], list[Thing]]:
    """Record and things: all is well with the first slots; a few, also former ones, are another matter."""
    variant = draw(st.integers(0, 2))

    def one(slot: Slot, id_: str, state: str | None = None, uid: str = UID, which: int = variant) -> Thing:
        facts = FACTS.get(slot[0], [{}])
        return thing(slot, id_, WELL.get(slot[0], "") if state is None else state, uid, **facts[which % len(facts)])

    far = max(0, len(slots) - draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 8, 99])))
    record = {slot: uuid(number) for number, slot in enumerate(slots[:far])}
    things = {slot: [one(slot, id_)] for slot, id_ in record.items()}
    disturbed = st.dictionaries(st.sampled_from([*slots, *former]), st.sampled_from(HOW), max_size=3)
    for number, (slot, how) in enumerate(draw(disturbed).items()):
        id_, state, which = uuid(100 + number), draw(STATES), draw(st.integers(0, 2))
        record.pop(slot, None)
        things[slot] = []
        if how in ("lost", "unmarked", "twice", "ill"):
            record[slot] = id_
        if how in ("unmarked", "foreign"):
            things[slot] = [one(slot, id_, uid=OTHER if how == "foreign" else "", which=which)]
        elif how in ("marked", "twice", "twins", "ill", "its"):
            things[slot] = [one(slot, id_, state if how in ("ill", "marked") else None, which=which)]
        if how in ("twice", "twins"):
            things[slot].append(one(slot, uuid(200 + number), state, which=which))
    return record, [each for found in things.values() for each in found]


@st.composite
def looks(draw: Any, things: list[Thing], kinds: tuple[str, ...]) -> Look:
    """Of servers there is always a list."""
    unseen = draw(st.just(frozenset[str]()) | st.frozensets(st.sampled_from([k for k in kinds if k != "server"])))
    return Look(tuple(each for each in things if each.what not in unseen), draw(MOSTLY), unseen)


@st.composite
def objects(draw: Any, model: Any, raw: dict[str, Any], deleting: bool, **meta: Any) -> tuple[Object, dict[str, Any]]:
    spec, errors = model.parsed({"spec": raw})
    assert not errors, errors
    kind = model.KIND
    finalizers = {"finalizers": [FINALIZER]} if draw(MOSTLY) else {}
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    metadata = {"name": KEY[1], "namespace": KEY[0], "uid": UID, "generation": 1, **finalizers, **going, **meta}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": raw}, spec


@st.composite
def asked(draw: Any, seen: Any, things: list[Thing], kinds: tuple[str, ...]) -> Any:
    """With what the cloud says, if it is asked at all."""
    seen = replace(
        seen, paused=draw(RARELY), errors=() if draw(MOSTLY) else ("spec.image: is required",), now=1_750_000_000.0
    )
    if not seen.asks:
        return seen
    if draw(RARELY):
        return troubled(replace(seen, cloud=draw(st.sampled_from([None, CLOUD]))), draw(TROUBLE))
    return replace(seen, cloud=CLOUD, look=draw(looks(things, kinds)))


CLAIMS = st.sampled_from([None, UID, OTHER])


@st.composite
def server(draw: Any, deleting: bool) -> ServerSeen:
    obj, spec = draw(objects(OpenStackServer, draw(SERVER), deleting))
    found = resolve(KEY[1], spec, {"a": ID} if draw(MOSTLY) else {}, draw(FOUND))
    resolved = found.value if draw(MOSTLY) else None
    record: dict[Slot, str] = {}
    things: list[Thing] = []
    if found.value:
        slots = [part.slot for part in server_parts(KEY, spec, found.value)]
        former: list[Slot] = [("port", "web-9"), ("trunk", "web-9"), ("volume", "old")]
        record, things = draw(belongings(slots, former)) if resolved else ({}, [])
    status = {**server_record(record), **({"resolved": resolved} if resolved else {})}
    if status["instanceID"]:
        status |= draw(st.sampled_from([{}, {"ready": True, "instanceState": "ACTIVE"}, {"ready": False}]))
    owner = draw(CLAIMS)
    claim = owner and {"metadata": {"name": claim_name(obj), "namespace": "ns", "ownerReferences": [{"uid": owner}]}}
    address = draw(st.sampled_from(["", "192.0.2.7"])) if claim else ""
    lent = [Thing("floating-ip", "lent", facts={"port_id": draw(st.sampled_from([None, uuid(0)]))})]
    id_ = "lent" if address and draw(MOSTLY) else ""
    pool = Pool(claim, address, id_) if spec.get("floatingIPPoolRef") else Pool()
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
def machine(draw: Any, deleting: bool) -> MachineSeen:
    labels = draw(st.sampled_from([{CLUSTER_NAME: "c"}, {CLUSTER_NAME: "c", CONTROL_PLANE: ""}, {}]))
    obj, spec = draw(objects(OpenStackMachine, draw(MACHINE), deleting, labels=labels))
    status = draw(st.sampled_from([{}, {"ready": True, "instanceID": "s", "initialization": {"provisioned": True}}]))
    network = draw(st.sampled_from([{}, {"id": ID, "subnets": [{"id": ID}]}]))
    cluster = {
        "metadata": {
            "name": "c",
            "namespace": "ns",
            "uid": "c",
            **({"deletionTimestamp": "t"} if draw(RARELY) else {}),
        },
        "spec": {"identityRef": {"name": "clouds", "cloudName": "mine"}, "tags": ["c"]},
        "status": {"ready": draw(MOSTLY), "network": network, "workerSecurityGroup": {"id": ID}},
    }
    base = server_object(KEY, obj, server_spec(spec, Place({"name": "c", "cloudName": "o"}, network=ID)), "c")
    found = draw(served(base)) if draw(FLAG) else None
    owner = {"kind": "Machine", "apiVersion": "cluster.x-k8s.io/v1beta1", "name": "m", "uid": "m"}
    if draw(FLAG):
        obj["metadata"]["ownerReferences"] = [owner]
    top = draw(st.sampled_from([None, {"spec": {}}, {"spec": {}}, {"spec": {"paused": True}}]))
    bootstrap = draw(st.sampled_from([{}, {"dataSecretName": "data"}]))
    return MachineSeen(
        {**obj, "status": status},
        spec,
        () if draw(MOSTLY) else ("spec.image: is required",),
        top,
        draw(st.sampled_from([None, {"spec": {"bootstrap": bootstrap, "failureDomain": "nova"}}])),
        cluster if draw(MOSTLY) else None,
        "c" if draw(MOSTLY) else "",
        _foreign(found) if found and draw(RARELY) else found,
    )


def _member(name: str, ready: bool, labels: dict[str, str]) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "labels": labels}, "status": {"ready": ready}}


MACHINES = st.lists(
    st.builds(_member, st.sampled_from("mno"), FLAG, st.sampled_from([{}, {CONTROL_PLANE: ""}])),
    max_size=2,
    unique_by=lambda each: each["metadata"]["name"],
).map(tuple)


@st.composite
def cluster(draw: Any, deleting: bool) -> ClusterSeen:
    obj, spec = draw(objects(OpenStackCluster, draw(CLUSTER), deleting))
    found = resolve_cluster(spec, {}, draw(FOUND))
    known = dict(found.names or {}) if draw(MOSTLY) else {}
    seen = ClusterSeen({**obj, "status": known}, 0.0, spec, found=found, machines=draw(MACHINES))
    members = {each["metadata"]["name"]: draw(served(_member_server(each))) for each in seen.machines if draw(FLAG)}
    want = wanted(seen)
    slots, every = ([part.slot for part in cluster_parts(replace(want, bastion=b))] for b in (want.bastion, True))
    former: list[Slot] = [("security-group-rule", "worker-old"), ("floating-ip", "api"), ("floating-ip", "bastion")]
    record, things = draw(belongings(slots, sorted({*former, *every} - set(slots))))
    groups = {field: {"id": ID, "name": field} for field in GROUP_FIELDS.values()}
    status = {**known, **draw(st.sampled_from([{}, groups])), "resources": listed(record)}
    status |= draw(st.sampled_from([{}, {"ready": True, "bastion": {"floatingIP": "192.0.2.1"}}]))
    given = [replace(each, facts={**each.facts, "port_id": draw(st.sampled_from([None, "p"]))})
             for each in found.addresses.values()]  # fmt: skip
    seen = replace(seen, obj={**obj, "status": status}, servers={**members, **draw(_bastions(seen, status))})
    seen = replace(seen, found=None) if deleting else seen
    return draw(asked(seen, [*things, *given][: draw(st.sampled_from([99, 99, 99, len(things)]))], CLUSTER_KINDS))


def _member_server(each: Object) -> Object:
    return {"metadata": {**each["metadata"], "ownerReferences": []}, "spec": {}}


@st.composite
def _bastions(draw: Any, seen: ClusterSeen, status: dict[str, Any]) -> dict[str, Object]:
    """That which is wanted, an older one, somebody else's, or none."""
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


CLAIMED = st.lists(
    st.builds(_claim, st.sampled_from("pqrs"), RARELY, FLAG),
    max_size=3,
    unique_by=lambda each: each["metadata"]["name"],
).map(tuple)


@st.composite
def pool(draw: Any, deleting: bool) -> PoolSeen:
    obj, spec = draw(objects(OpenStackFloatingIPPool, draw(POOL), deleting))
    slots: list[Slot] = [("floating-ip", str(number)) for number in range(3)]
    record, things = draw(belongings(slots, []))
    things = [replace(t, facts={**t.facts, "floating_ip_address": f"192.0.2.{n}"}) for n, t in enumerate(things)]
    claims = draw(CLAIMED) if draw(MOSTLY) else None
    there = [f"192.0.2.{n}" for n in range(3)]
    held = (
        draw(st.dictionaries(st.sampled_from("pqrt"), st.sampled_from(there), max_size=2)) if claims is not None else {}
    )
    assume(len(set(held.values())) == len(held))
    addresses = tuple(_address(name, address, draw(MOSTLY)) for name, address in held.items())
    others = draw(st.frozensets(st.sampled_from(there), max_size=1)) if claims is not None else frozenset[str]()
    given = {each: Thing("floating-ip", f"given-{each}") for each in spec["preAllocatedFloatingIPs"] if draw(MOSTLY)}
    network = {"id": ID, "name": "public"} if draw(MOSTLY) else {}
    found = Found(network, given, problems=() if network else ("there is none",))
    status = {"resources": listed(record), **draw(st.sampled_from([{}, {"floatingIPNetwork": network}]))}
    seen = PoolSeen(
        {**obj, "status": status}, 0.0, spec,
        claims=claims, addresses=addresses, taken=frozenset(held.values()) | others, found=found,
    )  # fmt: skip
    return draw(asked(seen, things, POOL_KINDS))


def _address(name: str, address: str, its: bool) -> Object:
    owner = f"claim-{name}" if its else "claim-before"
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"of-{name}", "ownerReferences": [{"uid": owner}]},
        "spec": {"address": address, "poolRef": {"kind": "OpenStackFloatingIPPool", "name": KEY[1]}},
    }


OBSERVED = {"server": server, "machine": machine, "capicluster": cluster, "floatingippool": pool}
