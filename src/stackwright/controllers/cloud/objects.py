"""Builds the service objects of a cloud from its spec. Pure.

The levels of values are kept separate, in rising priority. A plan can thus name the level of each change, and `~item`
in one level removes an item of the levels below it but not of those above it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from stackwright.api import reference
from stackwright.api.cloud.deployment import Charts, OpenStackDeploymentSpec
from stackwright.api.errors import NOT_SUPPORTED
from stackwright.api.services.kinds import ServiceSpec
from stackwright.core import tolerations
from stackwright.core.objects import CLOUD, ORPHAN, annotation, owned
from stackwright.core.plan import Object
from stackwright.core.precache import images_of
from stackwright.core.tolerations import Toleration
from stackwright.services.declaration import Context, Service
from stackwright.services.registry import BY_SERVICE
from stackwright.services.sizes import PRESETS
from stackwright.services.values import merged_values

Pods = tuple[frozenset[str], tuple[Toleration, ...]]  # images and tolerations of pods


class InvalidOverride(ValueError):
    """An override addresses a service, chart or DaemonSet that does not exist; the message names all of them."""


@dataclass(frozen=True)
class Wanted:
    """One service object of a cloud: its service and its name. `among` has the short names of all services of the
    cloud.
    """

    declared: Service
    name: str
    among: tuple[str, ...] = field(default=(), compare=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.declared.kind.kind, self.name


@dataclass(frozen=True)
class Refinement:
    """Additions to one service beyond the spec of the cloud.

    overrides  (level, chart → values), above all others
    settings   settings that replace those of the spec;  fields  further fields of the ServiceSpec
    """

    overrides: Sequence[tuple[str, Mapping[str, Any]]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


def wanted_services(spec: OpenStackDeploymentSpec) -> list[Wanted]:
    """Services of the preset, plus those added in features.services, minus those removed there (~name)."""
    names = wanted_names(spec)
    among = tuple(names)
    found = [Wanted(BY_SERVICE[name], BY_SERVICE[name].name, among) for name in names]
    if "messaging" in names:
        buses = [f"{BY_SERVICE[name].name}-rabbitmq" for name in dedicated(spec, names)]
        place = next(index for index, each in enumerate(found) if each.declared.service == "messaging")
        found[place + 1 : place + 1] = [Wanted(BY_SERVICE["messaging"], bus, among) for bus in buses]
    return found


def wanted_names(spec: OpenStackDeploymentSpec) -> list[str]:
    """Requested services and their requirements; a service removed by ~name is not added again."""
    names = _asked(spec)
    refused = _refused(spec)
    while added := [need for need in _required(spec, names) if need not in names and need not in refused]:
        names += added[:1]
    return sorted(names, key=list(BY_SERVICE).index)


def lost_needs(spec: OpenStackDeploymentSpec) -> dict[str, list[str]]:
    """Service removed by ~name → services that require it."""
    names = wanted_names(spec)
    found = {lost: [name for name in names if lost in _required(spec, [name], names)] for lost in _refused(spec)}
    return {lost: users for lost, users in sorted(found.items()) if users}


def _refused(spec: OpenStackDeploymentSpec) -> set[str]:
    return {asked[1:] for asked in spec.features.services if asked.startswith("~")}


def _asked(spec: OpenStackDeploymentSpec) -> list[str]:
    names = list(PRESETS[spec.preset])
    for asked in spec.features.services:
        if asked.startswith("~"):
            names = [name for name in names if name != asked[1:]]
        elif asked not in names:
            names.append(asked)
    return names


def _required(spec: OpenStackDeploymentSpec, names: Collection[str], among: Collection[str] = ()) -> list[str]:
    """The services that `names` require; `among` lists all services of the cloud if `names` is a part of them."""
    found: list[str] = []
    for name in names:
        declared = BY_SERVICE[name]
        if declared.requires is None:
            continue
        try:
            parsed = declared.settings.model_validate(settings(spec, declared, among or names))
        except ValidationError:
            continue  # reported when the spec is validated
        found += declared.requires(parsed)
    return found


def dedicated(spec: OpenStackDeploymentSpec, names: Collection[str]) -> list[str]:
    """Services with their own RabbitMQ."""
    return [name for name in spec.features.messaging.components_with_dedicated_messaging if name in names]


def service_object(
    cloud: Object, spec: OpenStackDeploymentSpec, wanted: Wanted, more: Refinement | None = None
) -> Object:
    """The object of one service. Raises InvalidOverride."""
    declared = wanted.declared
    more = more or Refinement()
    levels = [*overrides(spec, declared), *more.overrides]
    logging = getattr(spec.features.logging, declared.name, None)
    body: dict[str, Any] = {
        "release": spec.openstack_version,
        "size": spec.size,
        "region": spec.region_name,
        "clusterDomain": spec.internal_domain_name,
        "publicDomain": spec.public_domain_name,
        "storageClass": spec.local_volume_storage_class,
        "logLevel": logging.level if logging else "INFO",
        "settings": {**settings(spec, declared, wanted.among), **more.settings},
        "overrides": [{"source": source, "values": values} for source, values in levels if values],
        **more.fields,
    }
    if orphans := [name for owner, name in _orphans(cloud) if owner == declared.name]:
        body["orphan"] = orphans
    meta = cloud["metadata"]
    return owned(declared.kind, (meta["namespace"], wanted.name), cloud, body, {CLOUD: meta["name"]})


def _orphans(cloud: Object) -> list[tuple[str, str]]:
    """(service, back end) pairs that may be removed together with their content."""
    parts = [part.strip().partition("/") for part in annotation(cloud, ORPHAN).split(",")]
    return [(owner, name) for owner, _, name in parts if name]


def settings(spec: OpenStackDeploymentSpec, declared: Service, names: Collection[str] = ()) -> dict[str, Any]:
    """The settings of one service: the features of its own name, and facts about the rest of the cloud.

    `names` are all services of the cloud, for callers that already have them; computing them dominates the cost. Only
    values that the user set are passed on: a default that changes with Stackwright must not change every object.
    """
    names = names or wanted_names(spec)
    features = getattr(spec.features, declared.name, None)
    found: dict[str, Any] = features.model_dump(mode="json", exclude_unset=True) if features else {}
    for store in found.get("backends", {}).get("file", {}).values() if declared.service == "image" else ():
        _persistent(spec, store["pvc"])
    cleanup = getattr(spec.features.database.cleanup, declared.name, None)
    known = declared.settings.model_fields
    around = {
        "ingress": "ingress" in names,
        "network_policies": spec.features.network_policies.enabled,
        "messaging_instance": f"{declared.name}-rabbitmq" if declared.service in dedicated(spec, names) else "rabbitmq",
        "services": sorted(names),
        "trial": "ceph" in _asked(spec),
        "cleanup": cleanup.model_dump(mode="json", exclude_unset=True) if cleanup else {},
        "cadf": _cadf(spec),
        "public_endpoints": _public_endpoints(spec),
    }
    return found | {name: value for name, value in around.items() if name in known and value}


def _persistent(spec: OpenStackDeploymentSpec, volume: dict[str, Any]) -> None:
    """Sets the storage class of a non-local volume that names none."""
    if spec.persistent_volume_storage_class and not volume.get("storage_class_name"):
        volume["storage_class_name"] = spec.persistent_volume_storage_class


def service_pods(wanted: Wanted, thing: Object, images: Mapping[str, str]) -> Pods:
    """All images that the pods of a service object will need, and what they will tolerate; none when its values cannot
    be built, which it says.
    """
    text = json.dumps(thing["spec"], sort_keys=True)
    return _pods_of(wanted.declared.service, wanted.name, thing["metadata"]["namespace"], text, (*images.items(),))


@functools.lru_cache(maxsize=256)
def _pods_of(service: str, name: str, namespace: str, text: str, images: tuple[tuple[str, str], ...]) -> Pods:
    """Remembered by the text of the spec: a cloud is looked at far more often than it changes."""
    declared, spec = BY_SERVICE[service], ServiceSpec.model_validate(json.loads(text))
    try:
        context = Context(name, namespace, spec, dict(images), declared.settings.model_validate(spec.settings))
        charts = [merged_values(declared, context, chart) for chart in declared.charts if chart.wanted(context)]
    except ValueError:
        return frozenset(), ()
    tolerated = [each for values in charts for each in tolerations.of_values(values)]
    return frozenset().union(*(images_of(values) for values in charts)), tuple(tolerated)


def _cadf(spec: OpenStackDeploymentSpec) -> str:
    cadf = spec.features.logging.cadf
    return cadf.driver if cadf and cadf.enabled else ""


def _public_endpoints(spec: OpenStackDeploymentSpec) -> dict[str, Any]:
    given = spec.features.ssl.public_endpoints
    return given.model_dump(mode="json") if given else {}


def overrides(spec: OpenStackDeploymentSpec, declared: Service) -> list[tuple[str, dict[str, Any]]]:
    """(level, chart → values), in rising priority: common < services < nodes."""
    errors = override_errors(spec, declared)
    if errors:
        raise InvalidOverride("; ".join(errors))
    charts = [chart.name for chart in declared.charts]
    group = spec.common.openstack if declared.group == "openstack" else spec.common.infra
    levels = [
        *_common("spec.common.charts", spec.common.charts, charts),
        *_common(f"spec.common.{declared.group}", group, charts),
        (
            "spec.services",
            {c: v["values"] for c, v in spec.services.get(declared.service, {}).items() if v.get("values")},
        ),
    ]
    for node_label, node in spec.nodes.items():
        found: dict[str, Any] = {}
        for chart, daemonsets in node.services.get(declared.service, {}).items():
            label, value = node_label.split("::", 1)
            found[chart] = {
                "overrides": {
                    name: {"labels": {f"{label}::{value}": d.get("values", {})}} for name, d in daemonsets.items()
                }
            }
        levels.append((f"spec.nodes.{node_label}", found))
    return levels


def _common(source: str, group: Charts, charts: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Values for all charts of a group, then those for one chart."""
    every = dict.fromkeys(charts, group.values) if group.values else {}
    single = {chart: group.releases[chart].get("values", {}) for chart in charts if chart in group.releases}
    return [(f"{source}.values", every), (f"{source}.releases", {c: v for c, v in single.items() if v})]


def override_errors(spec: OpenStackDeploymentSpec, declared: Service) -> list[str]:
    """Errors of this service's overrides: an unknown target or an invalid shape."""
    charts = {chart.name: chart for chart in declared.charts}
    errors: list[str] = []
    where = f"spec.services.{declared.service}"
    for chart, body in _entries(spec.services.get(declared.service, {}), where, "chart", charts, errors):
        errors += _values_errors(body, f"{where}.{chart}")
    for node_label, node in spec.nodes.items():
        where = f"spec.nodes.{node_label}.services.{declared.service}"
        for chart, found in _entries(node.services.get(declared.service, {}), where, "chart", charts, errors):
            here = f"{where}.{chart}"
            for name, body in _entries(found, here, "DaemonSet", charts[chart].daemonsets, errors):
                errors += _values_errors(body, f"{here}.{name}")
    return errors


def _entries(
    value: Any, where: str, what: str, allowed: Collection[str], errors: list[str]
) -> Iterable[tuple[str, Any]]:
    """Entries with an allowed name; the others are added to `errors`."""
    if not isinstance(value, dict):
        errors.append(f"{where}: takes a mapping of {what}s")
        return []
    names = ", ".join(sorted(allowed)) or "none"
    for name in value:
        if name not in allowed:
            lacks = what == "service" and name in reference.SERVICES
            told = f"{NOT_SUPPORTED}; remove it" if lacks else f"unknown {what}; allowed: {names}"
            errors.append(f"{where}.{name}: {told}")
    return [(name, body) for name, body in value.items() if name in allowed]


def _values_errors(body: Any, where: str) -> list[str]:
    if isinstance(body, dict) and not set(body) - {"values"} and isinstance(body.get("values", {}), dict):
        return []
    return [f"{where}: takes only a mapping `values`"]


def spec_errors(spec: OpenStackDeploymentSpec) -> list[str]:
    """Errors of the whole spec that no schema can detect."""
    errors = [f"spec.nodes.{label}: write <label>::<value>" for label in spec.nodes if not all(label.partition("::"))]
    for part in ("charts", "infra", "openstack"):
        members = [declared for declared in BY_SERVICE.values() if part in ("charts", declared.group)]
        known = {chart.name for declared in members for chart in declared.charts}
        where = f"spec.common.{part}.releases"
        for chart, body in _entries(getattr(spec.common, part).releases, where, "chart", known, errors):
            errors += _values_errors(body, f"{where}.{chart}")
    for declared in BY_SERVICE.values():
        errors += override_errors(spec, declared)
    for label, node in spec.nodes.items():
        list(_entries(node.services, f"spec.nodes.{label}.services", "service", BY_SERVICE, errors))
    return errors
