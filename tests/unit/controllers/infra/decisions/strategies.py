"""Any state of an object's resources in an OpenStack, and any observation of it.

The cloud starts in a correct state at any stage of progress; then a few resources get impossible states.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from stackwright.controllers.infra.cloud_observation import with_error
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.clouds import Query
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef, CloudResource, ProjectView, ResourceKey, mark
from stackwright.core.plan import Object
from tests.unit.controllers.infra.decisions.specs import ID

UID = "5b6c1d0e-0000-4000-8000-000000000001"
OTHER = "5b6c1d0e-0000-4000-8000-000000000002"
CLOUD = CloudRef(("ns", "clouds"), "mine")
KEY = ("ns", "web")
FLAG = st.booleans()
RARELY = st.sampled_from([False] * 15 + [True])
MOSTLY = RARELY.map(lambda rare: not rare)
STATES = {
    "server": ["ACTIVE", "ACTIVE", "BUILD", "ERROR", "SHUTOFF", "DELETED", "SOFT_DELETED", "odd", ""],
    "volume": ["in-use", "available", "creating", "error", "deleting"],
}
TROUBLE = st.sampled_from(
    [
        TransientCloudError("AuthenticationFailed", "HTTP 401"),
        TransientCloudError("IdentityNotFound", "it does not exist"),
        TerminalCloudError("IdentityAccessDenied", "not this namespace"),
        TransientCloudError("Unreachable", "timed out", 30.0),
        TerminalCloudError("Forbidden", "HTTP 403"),
    ]
)
COPIED = 1e6  # when others copied our volumes
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
    "volume": [
        {"created_at": 0.0, "answered": True},
        {"created_at": 299.0, "answered": True},
        {"created_at": 299.0, "answered": False},
    ],
    "router": [{"external_gateway_info": {"external_fixed_ips": [{"ip_address": "192.0.2.254"}]}}],
    "floating-ip": [{"floating_ip_address": "192.0.2.1", "port_id": None}, {"port_id": ID, "tags": []}],
}


class Everything(dict[Query, tuple[CloudResource, ...]]):
    """Answers each question with as many things."""

    def __init__(self, count: int) -> None:
        self._count = count

    def get(self, asked: Query, default: Any = None) -> Any:
        what, facts = asked.type, {"network_id": ID, "floating_ip_address": "192.0.2.9"}
        return tuple(CloudResource(what, id_, "found", facts=facts) for id_ in (ID, OTHER)[: self._count])


FOUND = st.sampled_from([1] * 14 + [0, 2]).map(Everything)
# absent: nowhere; lost: recorded but absent; its: exists but unrecorded; twice: also recorded; twins: not recorded.
# copied: recorded, and a user restored a backup of it.
HOW = st.sampled_from(["absent", "lost", "its", "twice", "twins", "copied", "unmarked", "foreign", "ill"])


def uuid(number: int) -> str:
    return f"00000000-0000-4000-9000-{number:012d}"


def thing(key: ResourceKey, id_: str, state: str = "", uid: str = UID, **facts: Any) -> CloudResource:
    return CloudResource(key[0], id_, key[1], state, mark(uid, key) if uid else "", facts)


@st.composite
def belongings(
    draw: Any, keys: list[ResourceKey], former: list[ResourceKey]
) -> tuple[dict[ResourceKey, str], list[CloudResource]]:
    """Record and things: all is well with the first keys; the next one, and a few more, are another matter."""
    usual = {what: draw(st.sampled_from(states)) for what, states in STATES.items()}
    variant = draw(st.integers(0, 2))

    def one(
        key: ResourceKey, id_: str, uid: str = UID, which: int = variant, state: str | None = None
    ) -> CloudResource:
        facts = FACTS.get(key[0], [{}])
        state = usual.get(key[0], "ACTIVE") if state is None else state
        return thing(key, id_, state, uid, **facts[which % len(facts)])

    far = max(0, len(keys) - draw(st.sampled_from([0, 0, 0, 1, 1, 2, 9, 99])))
    record = {key: uuid(number) for number, key in enumerate(keys[:far])}
    things = {key: [one(key, id_)] for key, id_ in record.items()}
    odd = draw(st.just({}) | st.dictionaries(st.sampled_from([*keys, *former]), HOW, max_size=2))
    odd = {**{key: draw(st.just("absent") | HOW) for key in keys[far : far + 1]}, **odd}
    for number, (key, how) in enumerate(odd.items()):
        id_, which = uuid(100 + number), draw(st.integers(0, 2))
        record.pop(key, None)
        things[key] = []
        if how in ("lost", "unmarked", "twice", "copied", "ill"):
            record[key] = id_
        if how in ("unmarked", "foreign"):
            things[key] = [one(key, id_, OTHER if how == "foreign" else "", which)]
        elif how in ("its", "twice", "twins", "copied", "ill"):
            state = draw(st.sampled_from(STATES.get(key[0], ["ERROR", "deleting"]))) if how == "ill" else None
            things[key] = [one(key, id_, which=which, state=state)]
        if how in ("twice", "twins"):
            things[key].append(one(key, uuid(200 + number), which=which))
        if how == "copied" and key[0] == "volume":
            things[key].append(replace(one(key, uuid(200 + number)), facts={"created_at": COPIED, "answered": False}))
    return record, [each for found in things.values() for each in found]


@st.composite
def looks(draw: Any, things: list[CloudResource], kinds: tuple[str, ...]) -> ProjectView:
    """Servers always have a list, which may contain foreign servers."""
    how = draw(st.sampled_from(["", "", "", "", "", "unsettled", "unlisted_types", "unlisted_types", "strangers"]))
    others = [what for what in kinds if what != "server"]
    unlisted_types = frozenset(
        others[draw(st.sampled_from([0, 0, 0, 1, 2])) % len(others) :] if how == "unlisted_types" else ()
    )
    strangers = (
        [CloudResource(what, uuid(300), mark=mark(OTHER, SERVER_KEY)) for what in kinds] if how == "strangers" else []
    )
    return ProjectView(
        tuple(t for t in [*things, *strangers] if t.type not in unlisted_types), how != "unsettled", unlisted_types
    )


def parsed(model: Any, raw: dict[str, Any]) -> tuple[Object, dict[str, Any]]:
    """The object, and its spec in the later spelling."""
    spec, errors = model.parsed({"spec": raw})
    assert not errors, errors
    meta = {"name": KEY[1], "namespace": KEY[0], "uid": UID, "generation": 1}
    return {"apiVersion": model.KIND.api_version, "kind": model.KIND.kind, "metadata": meta, "spec": raw}, spec


@st.composite
def lives(draw: Any, obj: Object) -> Object:
    """The object exists or is in deletion, with our finalizer or without."""
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw(st.sampled_from([False, False, True])) else {}
    finalizers = {} if draw(RARELY) else {"finalizers": [FINALIZER]}
    return {**obj, "metadata": {**obj["metadata"], **finalizers, **going}}


@st.composite
def asked(draw: Any, seen: Any, things: list[CloudResource], kinds: tuple[str, ...]) -> Any:
    """With the response of the cloud to any query."""
    how = draw(st.sampled_from([*[""] * 15, "paused", "wrong", "trouble", "trouble"]))
    wrong = ("spec.image: is required",) if how == "wrong" else ()
    seen = replace(seen, paused=how == "paused", errors=wrong, now=1_750_000_000.0)
    if not seen.needs_cloud:
        return seen
    if how == "trouble":
        return with_error(replace(seen, cloud=draw(st.sampled_from([None, CLOUD]))), draw(TROUBLE))
    return replace(seen, cloud=CLOUD, view=draw(looks(things, kinds)))
