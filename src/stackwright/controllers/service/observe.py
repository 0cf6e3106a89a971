"""Reads a service object, its Secrets, contracts and HelmBundle.

Only the metadata and key names of a Secret are read; no secret value enters a decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import bounded, messages
from stackwright.api.kinds import CONFIGMAP, NODE, POD, PVC, SECRET, STORAGE_CLASS
from stackwright.api.services.contracts import CephClient, DatabaseAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.api.services.kinds import ServiceSpec
from stackwright.api.wording import choices
from stackwright.cloud.registry import CONTRACT_KINDS
from stackwright.core.helm.sensitive import Sections, cut
from stackwright.core.objects import OPTIONS, OWNER, annotation, mapping, owner_label
from stackwright.core.openstack.deployed import inventory
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.settings import Settings
from stackwright.services.context import CLOUD_AUTHORITY, PLACES, Context, NodeRef
from stackwright.services.declaration import Service, bundle_name


@dataclass(frozen=True)
class Observed:
    """errors      errors of the spec; if any, nothing else is read
    secrets     name → Secret or None, of all Secrets that the declaration or an override names
    owners      name → owner or None, of its Secrets with keys of data
    nodes       all nodes of the cluster
    contracts   (kind, name) → object, of all contracts that this service owns
    """

    declared: Service
    settings: Settings
    obj: Object
    now: float
    context: Context | None = None
    errors: tuple[str, ...] = ()
    sensitive: Mapping[str, Sections] = field(default_factory=dict)
    secrets: Mapping[str, Object | None] = field(default_factory=dict)
    owners: Mapping[str, Object | None] = field(default_factory=dict)
    contracts: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    bundle: Object | None = None
    nodes: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()  # PersistentVolumeClaims of the namespace, for services with volumes
    classes: tuple[Object, ...] = ()  # StorageClasses
    inventory: Object | None = None  # ConfigMap with the content of back ends to remove, or the causes to keep agents
    servers: tuple[Object, ...] = ()  # pods of the application, if it has serving_components


async def observe(declared: Service, settings: Settings, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(declared.kind, key)
    if obj is None:
        return None
    seen = Observed(declared, settings, obj, now, servers=await _servers(declared, reader, key))
    try:
        spec = ServiceSpec.model_validate(obj.get("spec") or {})
        if errors := bounded(_spec_errors(declared, spec)):
            return replace(seen, errors=tuple(errors))
        parsed, wrong = _settings(declared, spec)
        if wrong:
            return replace(seen, errors=wrong)
        nodes = tuple(await reader.list(NODE))
        context = Context(
            key[1],
            key[0],
            spec,
            settings.images,
            parsed,
            _labelled(nodes),
            await _pods(declared, reader, key[0]),
            await _facts(declared, reader, key[0]),
            operator=settings.namespace,
            pull_secrets=settings.pull_secrets,
        )
        context = replace(context, ceph_options=await _ceph_options(declared, context, reader))
        sensitive = _sensitive(declared, spec, parsed)
    except ValidationError as error:
        return replace(seen, errors=tuple(messages(error, ServiceSpec)))
    except ValueError as error:
        return replace(seen, errors=(str(error),))
    names = {s.name for s in declared.secrets(context)} | {k.name for k in declared.keys(context)}
    for certificate in declared.certificates(context):
        names |= {certificate.name} | ({name for name, _ in certificate.source.values()} or {CLOUD_AUTHORITY})
    for chart, sections in sensitive.items():
        names |= {secret_name(chart)} | {name for options in sections.values() for name, _ in options.values()}
    names |= {name for name, _ in declared.mounted(parsed)}
    contracts = {}
    for resource in CONTRACT_KINDS:
        for found in await reader.list(resource.KIND, key[0], {OWNER: owner_label(obj)}):
            contracts[resource.KIND.kind, found["metadata"]["name"]] = found
    context = replace(context, losses=_losses(contracts))
    return replace(
        seen,
        context=context,
        sensitive=sensitive,
        secrets={name: await reader.get(SECRET, (key[0], name)) for name in sorted(names)},
        owners={
            each.name: await reader.get(kind, (key[0], name)) for each, (kind, name) in declared.data_keys(context)
        },
        contracts=contracts,
        nodes=nodes,
        claims=tuple(await reader.list(PVC, key[0])) if has_claims(declared) else (),
        classes=tuple(await reader.list(STORAGE_CLASS)) if has_claims(declared) else (),
        inventory=await reader.get(CONFIGMAP, (key[0], inventory.name_of(key[1]))) if has_inventory(declared) else None,
        bundle=await reader.get(HelmBundle.KIND, (key[0], bundle_name(key[1]))),
    )


def has_claims(declared: Service) -> bool:
    return any(chart.claims for chart in declared.charts)


def has_inventory(declared: Service) -> bool:
    return bool(declared.backends or declared.agents)


def serving_components(declared: Service) -> frozenset[str]:
    """Components whose pods serve accounts, or the API of a service with back ends."""
    if declared.serves:
        return frozenset({declared.serves["component"]})
    apis = (each.component for each in declared.charts[0].listens if each.ports)
    return frozenset(apis) if declared.backends else frozenset()


def _losses(contracts: Mapping[tuple[str, str], Object]) -> int:
    databases = (each for (kind, _), each in contracts.items() if kind == DatabaseAccount.KIND.kind)
    return sum(int((each.get("status") or {}).get("losses") or 0) for each in databases)


async def _pods(declared: Service, reader: Reader, namespace: str) -> tuple[Object, ...]:
    if declared.pod_conditions is None and not declared.agents:
        return ()
    found = [await reader.list(POD, namespace, {"application": chart.name}) for chart in declared.charts]
    return tuple(pod for pods in found for pod in pods)


async def _servers(declared: Service, reader: Reader, key: Key) -> tuple[Object, ...]:
    if not serving_components(declared):
        return ()
    return tuple(await reader.list(POD, key[0], {"application": declared.application(key[1])}))


async def _facts(declared: Service, reader: Reader, namespace: str) -> Mapping[str, str]:
    found = await reader.get(CONFIGMAP, (namespace, declared.facts)) if declared.facts else None
    return (found or {}).get("data") or {}


async def _ceph_options(declared: Service, context: Context, reader: Reader) -> str:
    for contract in declared.contracts(context):
        if contract.kind == CephClient.KIND:
            secret = await reader.get(SECRET, (context.namespace, str(contract.spec["secretName"])))
            return annotation(secret, OPTIONS)
    return ""


def secret_name(chart: str) -> str:
    """The Secret with the sensitive options of a chart, as a configuration snippet."""
    return f"{chart}-overrides"


def _sensitive(declared: Service, spec: ServiceSpec, settings: Any) -> dict[str, Sections]:
    """Chart → sensitive options of all levels; a later level wins, and its plain value replaces a Secret's value."""
    own = {section: dict(options) for section, options in declared.sensitive(settings).items()}
    found: dict[str, Sections] = {declared.charts[0].name: own}
    for override in spec.overrides:
        for chart, values in override.values.items():
            conf_file = declared.conf_files.get(chart)
            clean, sections = cut(values, conf_file)
            for section, options in mapping(mapping(clean.get("conf")).get(conf_file)).items():
                for option in mapping(options):
                    found.get(chart, {}).get(section, {}).pop(option, None)
            for section, options in sections.items():
                found.setdefault(chart, {}).setdefault(section, {}).update(options)
    cleaned = {chart: {name: o for name, o in sections.items() if o} for chart, sections in found.items()}
    return {chart: sections for chart, sections in cleaned.items() if sections}


def _settings(declared: Service, spec: ServiceSpec) -> tuple[Any, tuple[str, ...]]:
    """The parsed spec.settings in the service's own model, and their errors."""
    try:
        return declared.settings.model_validate(spec.settings), ()
    except ValidationError as error:
        return None, tuple(messages(error, declared.settings, "spec.settings"))


def _labelled(nodes: tuple[Object, ...]) -> dict[str, tuple[NodeRef, ...]]:
    """Placement label → nodes that have it, sorted by name."""
    found = {}
    for label, value in PLACES:
        members = [node for node in nodes if (node["metadata"].get("labels") or {}).get(label) == value]
        found[f"{label}={value}"] = tuple(sorted((_reference(node) for node in members), key=lambda ref: ref.name))
    return found


def _reference(node: Object) -> NodeRef:
    addresses = {a["type"]: a["address"] for a in (node.get("status") or {}).get("addresses") or ()}
    return NodeRef(node["metadata"]["name"], addresses.get("InternalIP", ""))


def _spec_errors(declared: Service, spec: ServiceSpec) -> Iterator[str]:
    """Errors that the shared schema of all services cannot detect."""
    charts = {chart.name for chart in declared.charts}
    for index, override in enumerate(spec.overrides):
        for chart, values in override.values.items():
            where = f"spec.overrides[{index}].values.{chart}"
            if chart not in charts:
                yield f"{where}: unknown chart; {choices(chart, sorted(charts))}"
            elif not isinstance(values, Mapping):
                yield f"{where}: takes a mapping"
