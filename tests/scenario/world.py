"""A world in memory and simulated time: the operator with its wiring, and all other actors around it.

State in, event, state out: a test creates objects, lets the world settle, and checks the result. The operator is the
real one (runtime, queue, store, controllers); the API server, Helm, MariaDB, RabbitMQ and Keystone are those of
`stackwright.runtime.memory`; the kubelet is below. Only loop time passes, so days take milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.adapters.helm.command import privileged_charts
from stackwright.api.kinds import CONFIGMAP, DAEMONSET, DEPLOYMENT, JOB, NODE, POD, SECRET, STATEFULSET
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages
from stackwright.core.conditions import find, is_ready
from stackwright.core.digest import digest
from stackwright.core.objects import AUTHORITY, MANAGED, annotation, version_of
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster, Ports
from stackwright.core.settings import Settings
from stackwright.local.image import recipes
from stackwright.runtime.accounts import AccountChecks
from stackwright.runtime.cluster.cache import PARTIAL, CachedReader, Store, WriteThrough
from stackwright.runtime.events import Item
from stackwright.runtime.memory import (
    MemoryAccounts,
    MemoryAgents,
    MemoryCluster,
    MemoryContents,
    MemoryHelm,
    SeededEntropy,
    ceph,
)
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from stackwright.services.ceph.values import REQUESTS
from stackwright.services.context import CLOUD_AUTHORITY, PLACES
from stackwright.services.registry import SERVICES
from support.faults import Crash, Fuse, faulty
from support.waiting import next_due
from tests.scenario.faulty_clouds import FaultyClouds

NAMESPACE = "openstack"
NAME = "cloud"
START = 1_750_000_000.0
CONTROL_PLANE = {"openstack-control-plane": "enabled"}
EVERY_ROLE = dict(PLACES)
# Omitted in tests without `whole=True`: four services are enough to show the behaviour of a cloud.
AWAY = tuple(f"~{name}" for name in ("ingress", "image", "placement", "networking", "compute", "dashboard"))
# Images that no pod of a cloud uses.
ELSEWHERE = ("base", "base-python", "coredns", "guest", "operator", "operator-base", "python", "tempest")
CHARTS = {chart.name: chart for declared in SERVICES for chart in declared.charts}
SETTINGS = Settings(
    {name: f"example.org/{name}:1" for name in recipes.load().images if name not in ELSEWHERE},
    {name: f"digest-of-{name}" for name in CHARTS},
    privileged_charts(),
)
# Chart → its workloads: (kind, name, component). Any other chart has a Deployment for each listening component.
WORKLOADS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "mariadb": (("StatefulSet", "mariadb-server", "server"),),
    "rabbitmq": (("StatefulSet", "rabbitmq-server", "server"),),
    "memcached": (("StatefulSet", "memcached", "server"),),
    "keystone": (("Deployment", "keystone-api", "api"), ("Job", "keystone-db-sync", "db-sync")),
    "keystoneclient": (("Deployment", "keystone-client", "client"),),
    "ingress": (("DaemonSet", "ingress-controller", "controller"),),
    "glance": (("Deployment", "glance-api", "api"), ("Job", "glance-db-sync", "db-sync")),
    "placement": (("Deployment", "placement-api", "api"), ("Job", "placement-db-sync", "db-sync")),
    "horizon": (("Deployment", "horizon", "horizon"),),
    "ceph": (("Deployment", "ceph-watch", "watch"),),
    "ceph-rgw": (("Deployment", "ceph-rgw-api", "api"),),
    "etcd": (("StatefulSet", "etcd-server", "server"),),
    "cinder": (
        ("Deployment", "cinder-api", "api"),
        ("StatefulSet", "cinder-scheduler", "scheduler"),
        ("StatefulSet", "cinder-volume", "volume"),
        ("StatefulSet", "cinder-backup", "backup"),
        ("Job", "cinder-db-sync", "db-sync"),
    ),
    "heat": (
        ("Deployment", "heat-api", "api"),
        ("Deployment", "heat-cfn", "cfn"),
        ("Deployment", "heat-engine", "engine"),
        ("Job", "heat-db-sync", "db-sync"),
    ),
    "barbican": (
        ("Deployment", "barbican-api", "api"),
        ("Deployment", "barbican-worker", "worker"),
        ("Job", "barbican-db-sync", "db-sync"),
    ),
    "designate": (
        *(("Deployment", f"designate-{name}", name) for name in ("api", "central", "mdns", "producer", "worker")),
        ("Job", "designate-db-sync", "db-sync"),
        ("Job", "designate-pool", "pool"),
    ),
    "powerdns": (("Deployment", "powerdns", "server"), ("Job", "powerdns-db-sync", "db-sync")),
    "libvirt": (("DaemonSet", "libvirt", "libvirt"),),
    "openvswitch": (("DaemonSet", "openvswitch", "openvswitch"),),
    "nova": (
        ("Deployment", "nova-api-osapi", "api-osapi"),
        ("Deployment", "nova-api-metadata", "api-metadata"),
        ("Deployment", "nova-conductor", "conductor"),
        ("Deployment", "nova-scheduler", "scheduler"),
        ("Deployment", "nova-novncproxy", "novncproxy"),
        ("DaemonSet", "nova-compute", "compute"),
        ("Job", "nova-db-sync", "db-sync"),
    ),
    "neutron": (
        ("Deployment", "neutron-server", "server"),
        ("Deployment", "neutron-rpc-server", "rpc-server"),
        ("Deployment", "neutron-periodic-workers", "periodic-workers"),
        ("DaemonSet", "neutron-ovs-agent", "ovs-agent"),
        ("DaemonSet", "neutron-dhcp-agent", "dhcp-agent"),
        ("DaemonSet", "neutron-l3-agent", "l3-agent"),
        ("DaemonSet", "neutron-metadata-agent", "metadata-agent"),
        ("Job", "neutron-db-sync", "db-sync"),
    ),
    "ovn": (("StatefulSet", "ovn-ovsdb", "ovsdb"), ("DaemonSet", "ovn-controller", "controller")),
}
KINDS = {kind.kind: kind for kind in (DEPLOYMENT, STATEFULSET, DAEMONSET, JOB)}


def cloud_object(name: str = NAME, namespace: str = NAMESPACE, *, whole: bool = False, **spec: Any) -> Object:
    """A minimal OpenStackDeployment: of four services, unless the `whole` preset is requested."""
    base = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
    if not whole:
        features = dict(spec.get("features") or {})
        asked = features.get("services", ())
        features["services"] = [*(name for name in AWAY if name[1:] not in asked), *asked]
        spec["features"] = features
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {**base, **spec}}


def workloads(chart: str, values: Mapping[str, Any]) -> list[Object]:
    """The workloads of a chart, with the fields that the operator reads."""
    made = []
    application = values.get("name") or chart  # several releases of a chart in one namespace
    others = [("Deployment", f"{chart}-{each.component}", each.component) for each in CHARTS[chart].listens]
    for kind, name, component in WORKLOADS.get(chart, others):
        name = name.replace(chart, application, 1)
        labels = {"application": application, "component": component}
        replicas = ((values.get("pod") or {}).get("replicas") or {}).get(component, 1)
        template = {"metadata": {"labels": labels, "annotations": {"values": digest(values)}}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        if kind == "Job":
            name = f"{name}-{digest(values)[:8]}"
        elif kind != "DaemonSet":
            spec["replicas"] = replicas
        made.append({"kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec})
    return made


def _monotonic() -> float:
    return asyncio.get_running_loop().time()


class LoopClock:
    """The time of day, advanced only by the loop; it stands still until the first start of an operator."""

    def __init__(self, now: float = START) -> None:
        self._now, self._start = now, 0.0

    def go(self) -> None:
        self._start = self._start or self._now - asyncio.get_running_loop().time()

    def step(self, seconds: float) -> None:
        """Sets the clock."""
        self._now += seconds
        self._start += seconds

    def now(self) -> float:
        return self._start + asyncio.get_running_loop().time() if self._start else self._now


class Kubelet:
    """Creates pods of workloads, and sets both ready after `start` seconds.

    broken   workloads whose pods keep the given status
    rolling  DaemonSets that are updated node by node → seconds for each
    """

    def __init__(self, cluster: MemoryCluster, start: float = 3.0) -> None:
        self.broken: dict[str, Object] = {}
        self.rolling: dict[str, float] = {}
        self._cluster, self.start = cluster, start
        self._seen: dict[tuple[str, str], int] = {}

    def notice(self, event: str, kind: Kind, obj: Object) -> None:
        if kind == NODE:
            self._rescheduled()
        if kind.kind not in KINDS:
            return
        uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
        if event == "DELETED":
            for pod in self._cluster.all(POD, obj["metadata"]["namespace"]):
                if pod["metadata"]["ownerReferences"][0]["uid"] == uid:
                    self._cluster.remove(POD, (pod["metadata"]["namespace"], pod["metadata"]["name"]))
        elif (
            (obj.get("status") or {}).get("observedGeneration")
            != obj["metadata"]["generation"]
            != self._seen.get((uid, name))
        ):
            self._seen[uid, name] = obj["metadata"]["generation"]
            asyncio.get_running_loop().call_later(self.start, self.sync, kind, name, obj["metadata"]["namespace"])

    def sync(self, kind: Kind, name: str, namespace: str = NAMESPACE) -> None:
        """Sync a workload's pods and status with its spec and `broken`."""
        obj = self._cluster.peek(kind, (namespace, name))
        if obj is None:
            return
        if kind == DAEMONSET:
            self._sync_daemonset(obj)
            return
        count = 1 if kind == JOB else obj["spec"].get("replicas", 1)
        trouble = next((status for prefix, status in self.broken.items() if name.startswith(prefix)), None)
        for index in range(count):
            pod = _pod(obj, index, trouble)
            before = self._cluster.peek(POD, (namespace, pod["metadata"]["name"])) or {"metadata": {}}
            pod["metadata"]["labels"] |= before["metadata"].get("labels", {})  # other clients may have set some
            self._cluster.put(POD, pod)
        ready = 0 if trouble else count
        status = {"replicas": count, "readyReplicas": ready, "updatedReplicas": count, "succeeded": ready}
        status |= {"observedGeneration": obj["metadata"]["generation"]}
        if kind == STATEFULSET:
            status |= {"currentRevision": "1", "updateRevision": "1"}
        self._cluster.put(kind, {**obj, "status": status})

    def _sync_daemonset(self, obj: Object) -> None:
        """One pod per node, ready if the node is and the workload is not broken; pods of deleted nodes are deleted."""
        meta = obj["metadata"]
        trouble = next((status for prefix, status in self.broken.items() if meta["name"].startswith(prefix)), None)
        every = [node for node in self._cluster.all(NODE) if EVERY_ROLE.items() & node["metadata"]["labels"].items()]
        tolerated = {each["key"] for each in obj["spec"]["template"].get("spec", {}).get("tolerations", ())}
        nodes = [node for node in every if {each["key"] for each in node["spec"].get("taints", ())} <= tolerated]
        names = {f"{meta['name']}-{node['metadata']['name']}" for node in nodes}
        for pod in self._cluster.all(POD, meta["namespace"]):
            owner = pod["metadata"]["ownerReferences"][0]["uid"]
            if owner == meta["uid"] and pod["metadata"]["name"] not in names:
                self._cluster.remove(POD, (meta["namespace"], pod["metadata"]["name"]))
        pods = []
        for node in nodes:
            status = trouble if _is_up(node) else UNREADY
            pod = _pod(obj, node["metadata"]["name"], status)
            pod["metadata"]["labels"][POD_TEMPLATE] = str(meta["generation"])
            pods.append(pod)
        if seconds := next((each for prefix, each in self.rolling.items() if meta["name"].startswith(prefix)), 0.0):
            pods = self._rolled(obj, pods, {node["metadata"]["name"] for node in nodes if _is_up(node)}, seconds)
        for pod in pods:
            self._cluster.put(POD, pod)
        current = [pod for pod in pods if pod["metadata"]["labels"][POD_TEMPLATE] == str(meta["generation"])]
        counts = {"updatedNumberScheduled": len(current), "numberReady": sum(map(_is_ready, pods))}
        counts |= {"desiredNumberScheduled": len(nodes), "observedGeneration": meta["generation"]}
        meta = {**meta, "annotations": {**meta.get("annotations", {}), TEMPLATE: str(meta["generation"])}}
        self._cluster.put(DAEMONSET, {**obj, "metadata": meta, "status": counts})

    def _rolled(self, obj: Object, pods: list[Object], up: set[str], seconds: float) -> list[Object]:
        """The current pods of a rolling update with at most one unavailable pod, such as that of an unready node."""
        there = []
        for pod in pods:
            before = self._cluster.peek(POD, (pod["metadata"]["namespace"], pod["metadata"]["name"])) or pod
            old = before["metadata"]["labels"][POD_TEMPLATE] != pod["metadata"]["labels"][POD_TEMPLATE]
            there.append({**before, "status": READY if pod["spec"]["nodeName"] in up else UNREADY} if old else pod)
        if all(map(_is_ready, there)) and there != pods:
            index = next(index for index, pod in enumerate(there) if pod["metadata"] != pods[index]["metadata"])
            there[index] = {**pods[index], "status": UNREADY}
            meta = obj["metadata"]
            asyncio.get_running_loop().call_later(seconds, self.sync, DAEMONSET, meta["name"], meta["namespace"])
        return there

    def _rescheduled(self) -> None:
        """After a change of nodes, the pods of all DaemonSets follow a little later."""
        with contextlib.suppress(RuntimeError):  # while a world is built, no loop runs and no DaemonSet exists
            loop = asyncio.get_running_loop()
            for obj in self._cluster.all(DAEMONSET):
                meta = obj["metadata"]
                loop.call_later(self.start, self.sync, DAEMONSET, meta["name"], meta["namespace"])


def _pod(owner: Object, index: int | str, trouble: Object | None) -> Object:
    name, labels = f"{owner['metadata']['name']}-{index}", dict(owner["metadata"]["labels"])
    reference = {"apiVersion": "apps/v1", "kind": owner["kind"], "name": owner["metadata"]["name"]}
    reference["uid"] = owner["metadata"]["uid"]
    node = index if isinstance(index, str) else "node-1"
    meta = {"name": name, "namespace": owner["metadata"]["namespace"], "labels": labels, "ownerReferences": [reference]}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": trouble or READY}


def _is_up(node: Object) -> bool:
    return bool(node["status"]["conditions"][0]["status"] == "True")


def _is_ready(pod: Object) -> bool:
    return bool(pod["status"]["conditions"][0] == READY["conditions"][0])


# Kubernetes' label for the template generation of a DaemonSet's pod.
TEMPLATE, POD_TEMPLATE = "deprecated.daemonset.template.generation", "pod-template-generation"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: too few cpu"}],
}
UNREADY = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
    "containerStatuses": [{"name": "main", "state": {"running": {}}}],
}


class World:
    """latency  seconds from a write to the watch event about it"""

    def __init__(self, *, nodes: int = 1, latency: float = 0.0, workers: int = 4, now: float = START) -> None:
        self.clock = LoopClock(now)
        self.cluster = MemoryCluster(clock=self.clock)
        self.helm = MemoryHelm(self.cluster, self.clock, workloads)
        self.accounts = MemoryAccounts()
        self.kubelet = Kubelet(self.cluster)
        self.entropy = SeededEntropy()
        self.reconciles: list[Item] = []
        self.contents, self.agents = MemoryContents(), MemoryAgents()
        self.clouds = FaultyClouds(self.clock)
        self.settings: Settings | None = None
        self.ceph = True  # whether the provider of Ceph fulfils requests
        self._latency, self.workers = latency, workers
        self._runtime: Runtime | None = None
        self._task: asyncio.Task[None] | None = None
        self.cluster.subscribe(self.kubelet.notice)
        self.cluster.subscribe(self._collect)
        self.cluster.subscribe(self._hand_over)
        self.cluster.subscribe(self._watch)
        for index in range(nodes):
            self.node(f"node-{index + 1}", EVERY_ROLE)

    # The process of the operator.

    async def start(self, fuse: Fuse | None = None) -> None:
        """Start a new process: only the written state of the previous one remains."""
        queue: KeyedQueue[Item] = KeyedQueue()
        ports = Ports(
            self.cluster,
            self.helm,
            self.clock,
            self.entropy,
            self.accounts.providers,
            contents=self.contents,
            agents=self.agents,
            clouds=self.port(queue),
        )
        if fuse:
            ports = faulty(ports, fuse)
        store = Store()
        direct: Cluster = ports.cluster
        wired = dataclasses.replace(ports, cluster=WriteThrough(store, direct))
        runtime = _Counting(
            controllers(
                self.settings or SETTINGS,
                clouds=ports.clouds,
                accounts=AccountChecks(ports),
                ages=Ages(_monotonic),
                direct=direct,
            ),
            wired,
            CachedReader(store, direct),
            store,
            queue,
        )
        runtime.log = self.reconciles
        self._runtime = runtime
        self.clock.go()
        for kind in KINDS.values():
            for obj in self.cluster.all(kind):
                self.kubelet.notice("ADDED", kind, obj)
        await runtime.load()
        self._task = asyncio.create_task(runtime.run(self.workers))

    def port(self, queue: KeyedQueue[Item]) -> Clouds:
        """The port of a new process to the cloud."""
        return self.clouds

    async def stop(self) -> None:
        """Kill the process (SIGKILL)."""
        self._runtime = None
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
                await self._task
            self._task = None

    async def settle(self, patience: float = 30.0, limit: float = 900.0) -> None:
        """Runs until the queue is empty, nothing is due within `patience` seconds, and no pod is starting. Raises
        Crash.

        Raises AssertionError after `limit` seconds: then the reconciles do not converge.
        """
        if self._task is None:
            await self.start()
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        quiet, before = 0.0, (0, 0)
        while loop.time() < end:
            assert self._runtime is not None and self._task is not None
            if self._task.done():
                raise _crash_of(self._task)
            queue = self._runtime.queue
            due = next_due(queue)
            now = (self.cluster._version, len(self.reconciles))
            if now != before or not queue.idle or (due is not None and due < loop.time() + patience):
                quiet, before = 0.0, now
            elif quiet > max(self.kubelet.start, self._latency) + 1:
                return
            step = 0.5 if due is None or quiet else max(0.001, min(0.5, due - loop.time()))
            await asyncio.sleep(step)
            quiet += step
        raise AssertionError(f"not settled after {limit} s; what went on last: {self.reconciles[-12:]}")

    async def run(self, seconds: float) -> None:
        """Let the simulated time advance."""
        if self._task is None:
            await self.start()
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=seconds)
        if self._task.done():
            raise _crash_of(self._task)

    def _watch(self, event: str, kind: Kind, obj: Object) -> None:
        """Events as the API server sends them: only of watched kinds, and of Secrets only with our label."""
        selected = kind not in PARTIAL or MANAGED.items() <= (obj["metadata"].get("labels") or {}).items()
        runtime = self._runtime
        if runtime is None or kind not in runtime.kinds or not selected:
            return

        def deliver() -> None:
            if runtime is self._runtime:  # the watching process may have been killed
                runtime.on_event(event == "DELETED", kind, obj)

        asyncio.get_running_loop().call_later(self._latency, deliver)

    def again(self, now: float | None = None) -> World:
        """A copy of the current world without a running operator; this world is not changed."""
        now = self.clock.now() if now is None else now
        other = type(self)(nodes=0, latency=self._latency, workers=self.workers, now=now)
        for mine, theirs in ((self.cluster, other.cluster), (self.helm, other.helm)):
            for name in ("_objects", "_hidden", "_version", "_uids", "_charts"):
                if hasattr(mine, name):
                    setattr(theirs, name, copy.copy(getattr(mine, name)))
        other.accounts.become_like(self.accounts)
        other.cluster.unserved = set(self.cluster.unserved)
        other.clouds.become_like(self.clouds)
        other.entropy = SeededEntropy(1)
        other.kubelet.__dict__ |= {"broken": dict(self.kubelet.broken), "start": self.kubelet.start}
        return other

    def _hand_over(self, event: str, kind: Kind, obj: Object) -> None:
        """Provide the requested keys, as the provider of Ceph does."""
        if kind == CONFIGMAP and obj["metadata"]["name"] == REQUESTS and event != "DELETED" and self.ceph:
            self.cluster.put(SECRET, ceph.provided_keys(obj))

    def _collect(self, event: str, kind: Kind, obj: Object) -> None:
        """The garbage collector also deletes objects that are created for a deleted owner."""
        owners = {reference["uid"] for reference in obj["metadata"].get("ownerReferences") or ()}
        if event == "ADDED" and owners and not owners & self.cluster._uids_here():
            key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
            asyncio.get_running_loop().call_later(1.0, self.cluster.remove, kind, key)

    # Actions of users and other clients.

    def node(self, name: str, labels: Mapping[str, str], ready: bool = True, taint: str = "") -> None:
        condition = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "KubeletReady"}
        if not ready:
            condition |= {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
        address = {"type": "InternalIP", "address": f"10.0.0.{sum(map(ord, name)) % 250}"}
        status = {"conditions": [condition], "addresses": [address]}
        spec = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
        self.cluster.put(NODE, {"metadata": {"name": name, "labels": dict(labels)}, "spec": spec, "status": status})

    def cloud(self, **spec: Any) -> Object:
        """Write the OpenStackDeployment, as `kubectl apply` does."""
        before = self.osdpl
        obj = cloud_object(**spec)
        if before:
            obj = {**before, "spec": obj["spec"]}
        return self.cluster.put(OpenStackDeployment.KIND, obj)

    def secret(self, name: str, **data: str) -> None:
        """A Secret of a user."""
        import base64

        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        before = self.cluster.peek(SECRET, (NAMESPACE, name)) or {"metadata": {"name": name, "namespace": NAMESPACE}}
        self.cluster.put(SECRET, {**before, "data": encoded})

    def delete(self, kind: Kind, name: str) -> None:
        self.cluster.remove(kind, (NAMESPACE, name))

    # Existing objects.

    @property
    def osdpl(self) -> Object | None:
        return self.get(OpenStackDeployment.KIND, NAME)

    def get(self, kind: Kind, name: str) -> Object | None:
        return self.cluster.peek(kind, (NAMESPACE, name))

    def names(self, kind: Kind) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.cluster.all(kind, NAMESPACE)]

    def bundle(self, name: str) -> Object:
        found = self.get(HelmBundle.KIND, f"openstack-{name}")
        assert found is not None, f"there is no HelmBundle openstack-{name}"
        return found

    def ready(self, obj: Object | None = None) -> bool:
        return is_ready(self.osdpl if obj is None else obj)

    def condition(self, type_: str = "Ready", obj: Object | None = None) -> tuple[str, str, str]:
        entry = find(self.osdpl if obj is None else obj, type_)
        assert entry is not None, f"there is no condition {type_}"
        return entry["status"], entry["reason"], entry["message"]

    @property
    def writes(self) -> int:
        """All writes of the operator so far, to the API and to external systems."""
        foreign = (self.helm.calls, self.accounts.calls, self.agents.calls)
        return len(self.cluster.writes) + len(self.cluster.events) + sum(map(len, foreign))

    def state(self) -> dict[str, Any]:
        """All objects, without fields that differ between two equal worlds: identities, times, passwords, revisions."""
        kinds = [*(resource.KIND for resource in RESOURCES), *KINDS.values(), POD, SECRET]
        objects = {
            f"{kind.kind}/{obj['metadata']['name']}": _normal(obj) for kind in kinds for obj in self.cluster.all(kind)
        }
        history = ("Secret/sh.helm", "Secret/openstackdeployment.", "Secret/openstackcontrolplane.")
        return {
            "objects": {name: obj for name, obj in objects.items() if not name.startswith(history)},
            "accounts": {
                provider: {name: sorted(stored) for name, stored in each.content.items()}
                for provider, each in vars(self.accounts).items()
            },
            "passwords": self._passwords(),
            "authorities": self._authorities(),
        }

    def _authorities(self) -> dict[str, bool]:
        """Whether each certificate was issued by the current CA of the cloud."""
        present = version_of(self.get(SECRET, CLOUD_AUTHORITY))
        noted = {obj["metadata"]["name"]: annotation(obj, AUTHORITY) for obj in self.cluster.all(SECRET)}
        return {name: note == present for name, note in noted.items() if note}

    def _passwords(self) -> dict[str, bool]:
        """Whether each account has the password that is in its Secret."""
        from stackwright.core.objects import secret_data

        told = {
            (data.get("host"), data["username"], data["password"])
            for obj in self.cluster.all(SECRET)
            if {"username", "password"} <= (data := secret_data(obj)).keys()
        }
        accounts = [
            (user if isinstance(user, tuple) else (None, user), password)  # a cloud has only one Keystone
            for each in self.accounts
            for user, password in each.users.items()
        ]
        return {f"{user} at {host}": (host, user, word) in told for (host, user), word in accounts}


_READY: dict[str, tuple[World, float]] = {}


async def built_world(**spec: Any) -> tuple[World, float]:
    """A cloud that became Ready, and the time; built once per spec, and read-only: see ready_world."""
    name = json.dumps(spec, sort_keys=True)
    if name not in _READY:
        world = World()
        world.cloud(**spec)
        await world.settle()
        assert world.ready(), world.condition()
        _READY[name] = (world, world.clock.now())
        await world.stop()
    return _READY[name]


async def ready_world(**spec: Any) -> World:
    """A copy of such a cloud, with its operator running."""
    world, now = await built_world(**spec)
    copied = world.again(now)
    await copied.settle()
    copied.reconciles.clear()
    return copied


_VOLATILE = {
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "observedGeneration",
    "lastTransitionTime", "digest", "data", "revision", "readyRevision",
    "stackwright.dev/digest", "stackwright.dev/rotated-at", "stackwright.dev/expires",
    "providerUid", "providerSince", AUTHORITY,
}  # fmt: skip


def _normal(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_normal(each) for each in value), key=str)
    if not isinstance(value, dict):
        return value
    kept = {name: _normal(found) for name, found in sorted(value.items()) if name not in _VOLATILE}
    if "manifests" in kept:  # by revision
        kept["manifests"] = [bool(digest) for digest in kept["manifests"].values()]
    return {**kept, "data": sorted(value["data"])} if isinstance(value.get("data"), dict) else kept


class _Counting(Runtime):
    """The runtime, with a list of its processed keys. A Crash ends it, like the kill of the process."""

    log: list[Item]

    def ends(self, error: BaseException) -> bool:
        return isinstance(error, Crash) or super().ends(error)

    async def reconcile(self, item: Item) -> None:
        self.log.append(item)
        await super().reconcile(item)


def _crash_of(task: asyncio.Task[None]) -> BaseException:
    error = task.exception()
    assert error is not None, "the runtime ended without a word"
    return next(_leaves(error))


def _leaves(error: BaseException) -> Iterable[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        crashes, others = error.split(Crash)
        for part in (crashes, others):
            for each in part.exceptions if part else ():
                yield from _leaves(each)
    else:
        yield error


CLOCKED = {"keystone", "nova", "ingress", "cinder", "etcd"}


def assert_only_accounts_are_looked_at(reconciles: list[Item]) -> None:
    """Check an hour without changes: each account a few times, services with keys or certificates once."""
    accounts = [each for each in reconciles if each[0] in ("database", "messaging", "identity")]
    assert all(7 <= number <= 12 for number in Counter(accounts).values())
    clocked = Counter(each for each in reconciles if each not in accounts)
    assert {name for name, _ in clocked} <= CLOCKED, clocked
    assert all(number == 1 for number in clocked.values())
