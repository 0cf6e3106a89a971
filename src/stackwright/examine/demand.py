"""The needs of clouds in a cluster, computed as by `plan`, on an ideal cluster, from this program's charts.

Helm renders the releases to manifests, which contain the resources of all pods. Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from stackwright.api.kinds import DAEMONSET, INGRESS_CLASS, SECRET, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.cloud.registry import CLOUD_KINDS
from stackwright.core.kubernetes.precache import NAME as PRECACHE
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.kubernetes.tolerations import Toleration
from stackwright.core.objects import mapping
from stackwright.core.plan import HelmUpgrade, Key, Object
from stackwright.core.ports import Reader
from stackwright.core.settings import Settings
from stackwright.examine.ideal import Ideal
from stackwright.forecast.costs import Render, objects
from stackwright.forecast.impact import claimed
from stackwright.forecast.simulate import Cause, Forecast, Request, simulate
from stackwright.services.declaration import Service
from stackwright.services.registry import SERVICES

NodeLabel = tuple[str, str]
Given = tuple[Kind, Object]  # an object of a manifest
CLUSTER_DOMAIN = "cluster.local"  # the default of clouds
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_WORKLOADS = {kind.kind: kind for kind in WORKLOADS}
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Pods:
    """The pods of a workload.

    name      namespace, kind and name of the workload
    count     number of pods; None: one on each selected node
    selector  labels of the nodes
    cpu, memory  requests of one pod, in cores and bytes
    host      whether Pod Security's level `baseline` rejects it
    """

    name: str
    count: int | None
    selector: Mapping[str, str] = field(default_factory=dict)
    cpu: Decimal = _ZERO
    memory: Decimal = _ZERO
    host: bool = False


@dataclass(frozen=True)
class Demand:
    """The needs of the clouds in manifests.

    clouds       (namespace, name) → kind
    labels       label of nodes → names of the services that need such a node
    modules      label of nodes → kernel modules that services use there
    classes      StorageClass ("" for the default one) → releases that claim volumes of it
    domains      DNS domains of the cluster in the specs of the clouds
    tolerations  those of all pods of the clouds
    pods         None if helm is not installed, because no manifest can be rendered
    ingress_classes  IngressClass → (namespace, release) that creates it
    stuck        object → the cause if the operator would not complete it even on an ideal cluster
    hidden       Secret → why it could not be read, so that it counts as missing
    """

    clouds: Mapping[Key, str] = field(default_factory=dict)
    labels: Mapping[NodeLabel, tuple[str, ...]] = field(default_factory=dict)
    modules: Mapping[NodeLabel, frozenset[str]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    domains: frozenset[str] = frozenset()
    tolerations: tuple[Toleration, ...] = ()
    pods: tuple[Pods, ...] | None = None
    ingress_classes: Mapping[str, Key] = field(default_factory=dict)
    stuck: Mapping[str, Cause] = field(default_factory=dict)
    hidden: Mapping[Key, str] = field(default_factory=dict)

    @property
    def namespaces(self) -> list[str]:
        return sorted({namespace for namespace, _ in self.clouds})


def of_services(services: Iterable[Service]) -> Demand:
    """The needs of services by their declarations alone; without manifests, those of all services."""
    labels: dict[NodeLabel, tuple[str, ...]] = {}
    modules: dict[NodeLabel, frozenset[str]] = {}
    for service in services:
        for each in service.node_labels:
            labels[each] = (*labels.get(each, ()), service.name)
        for each, names in service.modules.items():
            modules[each] = modules.get(each, frozenset()) | set(names)
    return Demand(labels=labels, modules=modules)


async def of_manifests(
    cluster: Reader, given: Sequence[Given], settings: Settings, now: float, render: Render | None
) -> Demand:
    """The demand of the clouds among the manifests. Secrets come from the manifests and the cluster.

    Raises TerminalError for values that a chart rejects.
    """
    kinds = [resource.KIND for resource in CLOUD_KINDS]
    clouds = {_key(obj): kind.kind for kind, obj in given if kind in kinds}
    ideal, found = Ideal(cluster, [obj for _, obj in given]), dict[str, Forecast]()
    for namespace in sorted({namespace for namespace, _ in clouds}):
        mine = tuple(
            (kind, obj)
            for kind, obj in given
            if kind == SECRET or obj["metadata"].get("namespace", namespace) == namespace
        )
        found[namespace] = await simulate(ideal, settings, Request(namespace, mine), now)
    steps = [step for each in found.values() for step in each.steps]
    upgrades = {step.action.release: step.action for step in steps if isinstance(step.action, HelmUpgrade)}
    texts = await asyncio.gather(*map(render, upgrades.values())) if render else []
    rendered = [(release, objects(text) or []) for release, text in zip(upgrades, texts, strict=bool(render))]
    present = [
        (service, obj)
        for space, each in found.items()
        for service in SERVICES
        for obj in await each.world.list(service.kind, space)
    ]
    declared = of_services({service.name: service for service, _ in present}.values())
    return Demand(
        clouds=clouds,
        labels=declared.labels,
        modules=declared.modules,
        classes={name: tuple(releases) for name, releases in claimed(steps, ()).items()},
        domains=frozenset(str(obj["spec"].get("clusterDomain", CLUSTER_DOMAIN)) for _, obj in present),
        tolerations=tuple([one for space, each in found.items() for one in await _tolerations(each, space)]),
        pods=tuple(pods for release, objs in rendered for pods in _pods(release[0], objs)) if render else None,
        ingress_classes={
            str(obj["metadata"]["name"]): release
            for release, objs in rendered
            for obj in objs
            if obj.get("kind") == INGRESS_CLASS.kind
        },
        stuck={name: cause for each in found.values() for name, cause in each.stuck.items()},
        hidden=ideal.hidden,
    )


def _key(obj: Object) -> Key:
    return str(obj["metadata"].get("namespace", "")), str(obj["metadata"]["name"])


async def _tolerations(result: Forecast, namespace: str) -> list[Toleration]:
    holder = await result.world.get(DAEMONSET, (namespace, PRECACHE)) or {}
    pod = mapping(mapping(mapping(holder.get("spec")).get("template")).get("spec"))
    return list(pod.get("tolerations") or ())


def _pods(namespace: str, manifests: Iterable[Object]) -> Iterator[Pods]:
    """The pods of all workloads except Jobs, whose pods do not stay."""
    for obj in manifests:
        kind = _WORKLOADS.get(str(obj.get("kind")))
        if kind is None:
            continue
        spec = mapping(obj.get("spec"))
        pod = mapping(mapping(spec.get("template")).get("spec"))
        replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
        yield Pods(
            f"{namespace}/{obj['metadata']['name']}",
            None if kind == DAEMONSET else replicas,
            dict(mapping(pod.get("nodeSelector"))),
            requested(pod, "cpu"),
            requested(pod, "memory"),
            _needs_host(pod),
        )


def requested(pod: Mapping[str, Any], resource: str) -> Decimal:
    """The request of a pod's spec for a resource, in its base unit, as the scheduler computes it."""

    def of(container: Any) -> Decimal:
        resources = mapping(mapping(container).get("resources"))
        # A limit without a request is also the request.
        text = mapping(resources.get("requests")).get(resource, mapping(resources.get("limits")).get(resource))
        try:
            return _ZERO if text is None else amount(str(text))
        except ValueError:
            return _ZERO

    containers, first = pod.get("containers") or (), pod.get("initContainers") or ()
    sidecars = [each for each in first if each.get("restartPolicy") == "Always"]
    largest = max((of(each) for each in first if each not in sidecars), default=_ZERO)
    together = sum(map(of, (*containers, *sidecars)), _ZERO)
    return max(together, largest)


def _needs_host(pod: Mapping[str, Any]) -> bool:
    containers = [mapping(each) for each in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))]
    return (
        any(pod.get(name) for name in HOST_NAMESPACES)
        or any("hostPath" in mapping(volume) for volume in pod.get("volumes") or ())
        or any(mapping(each.get("securityContext")).get("privileged") for each in containers)
        or any(mapping(port).get("hostPort") for each in containers for port in each.get("ports") or ())
    )
