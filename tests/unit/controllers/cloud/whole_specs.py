"""Any spec of a cloud that its schema allows, with any content of free-form fields; and the controllers' results."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from stackwright.admission.validate import errors_of
from stackwright.api.crd import KEEP
from stackwright.api.kinds import NODE
from stackwright.api.services.kinds import ServiceSpec
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.decide import decide as decide_deployment
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.controlplane.decide import decide as decide_control_plane
from stackwright.controllers.helmbundle.decide import decide as decide_helmbundle
from stackwright.controllers.helmbundle.observe import Observed as Bundle
from stackwright.controllers.service.decide import decide as decide_service
from stackwright.controllers.service.objects import bundle
from stackwright.controllers.service.observe import observe as observe_service
from stackwright.core.kubernetes import tolerations
from stackwright.core.kubernetes.precache import images_of
from stackwright.core.plan import Apply
from stackwright.core.settings import Settings
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.context import COMPUTE, CONTROL_PLANE, GATEWAY, OPENVSWITCH, Context
from stackwright.services.declaration import Service
from stackwright.services.images import images_and_tolerations
from stackwright.services.registry import BY_KIND, SERVICES
from stackwright.services.values import merged_values

NAMESPACE = "openstack"
SETTINGS = Settings({}, {})
BASE = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
STORAGE = ["block-storage", "object-storage", "ceph"]
WORDS = st.sampled_from(
    ["", "x", "~x", "0", "true", "a::b", "conf", "value_from", "secret_key_ref", "values", "labels", "é\n"]
)
KEYS = st.sampled_from(
    ["x", "", "conf", "value_from", "secret_key_ref", "name", "key", "DEFAULT", "labels", "tags", "a.b"]
)
ATOMS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.just(0.5) | WORDS
JUNK = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=5
)
RARELY = st.sampled_from([False] * 9 + [True])


@functools.cache
def base(chart_name: str) -> Mapping[str, Any]:
    """The values of a chart as it is by default: where overrides meet something."""
    declared, chart = next((each, c) for each in SERVICES for c in each.charts if c.name == chart_name)
    context = Context(declared.name, NAMESPACE, ServiceSpec(), {}, declared.settings.model_validate({}))
    try:
        return merged_values(declared, context, chart)
    except ValueError:
        return {}


@st.composite
def places(draw: Any, chart: str) -> list[str]:
    """A path that the chart knows, so that its value has an effect."""
    path: list[str] = []
    node: Any = base(chart)
    while isinstance(node, Mapping) and node and (not path or draw(st.integers(0, 4))):
        path.append(draw(st.sampled_from(sorted(node))))
        node = node[path[-1]]
    return path


def at(path: list[str], found: Any) -> Any:
    for name in reversed(path):
        found = {name: found}
    return found


SECTIONS = st.dictionaries(
    st.sampled_from(["DEFAULT", "x", "rbd", ""]), st.dictionaries(KEYS, JUNK, max_size=2), max_size=2
)
BACKEND = st.fixed_dictionaries({"backends": SECTIONS}, optional={"cinder": SECTIONS | JUNK})
CHARTS = {declared.service: [chart.name for chart in declared.charts] for declared in SERVICES}
LEVELS = ["1every", "2release", "3group", "4services"]  # in rising priority
DAEMONSETS = [(d.service, c.name, name) for d in SERVICES for c in d.charts for name in c.daemonsets]


@st.composite
def overridden(draw: Any) -> dict[str, Any]:
    """A cloud with anything in the values of one or a few charts, at several levels."""
    service = draw(st.sampled_from(sorted(CHARTS)))
    chart = draw(st.sampled_from(CHARTS[service]))
    group = next(declared.group for declared in SERVICES if declared.service == service)
    spec: dict[str, Any] = {
        **BASE,
        "features": {"services": [*STORAGE, *([service] if service not in STORAGE else [])]},
    }
    levels = draw(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=3, unique=True).map(sorted))
    path = draw(places(chart)) or ["x"]
    # A level may remove lower values; then the next one sets any value there.
    found = {level: at(path, draw(JUNK)) for level in levels}
    if draw(st.booleans()):
        found[levels[0]] = at(path, None)
    common: dict[str, Any] = {"charts": {}}
    for level, given in found.items():
        match level[1:]:
            case "every":
                common["charts"]["values"] = given
            case "release":
                common["charts"]["releases"] = {chart: {"values": given}}
            case "group":
                common[group] = {"values": given}
            case "services":
                spec["services"] = {service: {chart: {"values": given}}}
    if draw(RARELY):
        where, of, name = draw(st.sampled_from(DAEMONSETS))
        there = {"values": at(draw(places(of)) or ["x"], draw(JUNK))}
        spec["nodes"] = {"rack::r1": {"services": {where: {of: {name: there}}}}}
    if draw(RARELY):
        spec["features"]["cinder"] = {"volume": {"backends": {"b": {"values": {"conf": draw(BACKEND)}}}}}
    spec["common"] = common
    return spec


def of_schema(schema: Mapping[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Specs that an API server admits by this schema, with only a few of the optional fields."""
    if schema.get(KEEP) and not schema.get("properties"):
        return st.dictionaries(KEYS | st.sampled_from(sorted(CHARTS)), JUNK, max_size=2)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return st.lists(of_schema(schema["items"]), min_size=schema.get("minItems", 0), max_size=2)
        case "integer":
            return st.integers(schema.get("minimum", -3), schema.get("maximum", 70_000))
        case "number":
            return st.sampled_from([schema.get("minimum", 0), 1, 1.5])
        case "boolean":
            return st.booleans()
        case "string":
            text = st.from_regex(schema["pattern"]) if "pattern" in schema else WORDS
            return text.map(lambda found: found[: schema.get("maxLength", 1000)])
    return JUNK


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    properties = schema.get("properties") or {}
    needed = {name: of_schema(properties[name]) for name in schema.get("required", ()) if name in properties}
    if not properties:
        extra = schema.get("additionalProperties")
        inner = of_schema(extra) if isinstance(extra, Mapping) and extra else JUNK
        return st.dictionaries(KEYS | st.sampled_from(["a", "b"]), inner, max_size=2)
    others = sorted(set(properties) - set(needed))

    @st.composite
    def build(draw: Any) -> dict[str, Any]:
        found = {name: draw(strategy) for name, strategy in needed.items()}
        for name in draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else ():
            found[name] = draw(of_schema(properties[name]))
        return found

    return build()


def carried_out(kind: Any, spec: dict[str, Any]) -> bool:
    """Whether a cloud is admitted; then all its controllers look at it and decide, which must not raise."""
    meta = {"name": "cloud", "namespace": NAMESPACE, "uid": "u", "generation": 1}
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": spec}
    if errors := errors_of(obj):
        assert all(isinstance(error, str) and error for error in errors)
        return False
    asyncio.run(_decide(kind, obj))
    return True


async def _decide(kind: Any, obj: dict[str, Any]) -> None:
    cluster = MemoryCluster()
    labels = dict([CONTROL_PLANE, COMPUTE, OPENVSWITCH, GATEWAY])
    address = {"type": "InternalIP", "address": "10.0.0.11"}
    cluster.put(NODE, {"metadata": {"name": "node-1", "labels": labels}, "status": {"addresses": [address]}})
    decide = decide_deployment if kind == OpenStackDeployment.KIND else decide_control_plane
    plan = decide(Observed(SETTINGS, obj))
    assert plan.conditions[0].reason != "InvalidSpec", "what was admitted is not refused later"
    for action in plan.actions:
        if not isinstance(action, Apply) or action.kind.kind not in BY_KIND:
            continue
        declared = BY_KIND[action.kind.kind]
        cluster.put(action.kind, action.obj)
        key = (NAMESPACE, action.obj["metadata"]["name"])
        seen = await observe_service(declared, SETTINGS, cluster, key, 0.0)
        assert seen is not None
        decide_service(seen)
        if seen.context is not None:
            with contextlib.suppress(ValueError):  # reported as InvalidValues
                made = bundle(seen, seen.context)
                decide_helmbundle(Bundle(SETTINGS, made))
                _pulled_before(declared, action.obj, [each["values"] for each in made["spec"]["releases"]])


def _pulled_before(declared: Service, obj: dict[str, Any], rendered: list[dict[str, Any]]) -> None:
    """What the cloud pulls before a service object changes is what the rendered values contain."""
    images, tolerated = images_and_tolerations(declared, obj["spec"], SETTINGS.images)
    assert images == set().union(*(images_of(values) for values in rendered))
    assert tolerated == [each for values in rendered for each in tolerations.of_values(values)]
