"""Each check of `stackwright doctor`: the finding, and its absence on a cluster that is fit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.kinds import (
    INGRESS_CLASS,
    MUTATING_WEBHOOK,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    STORAGE_CLASS,
    VALIDATING_WEBHOOK,
)
from stackwright.api.meta import Kind
from stackwright.core.conditions import Wait
from stackwright.core.findings import Finding
from stackwright.examine import images, nodes
from stackwright.examine.checks import check
from stackwright.examine.demand import Demand, Pods
from stackwright.examine.observe import Observed
from stackwright.examine.probe import pod
from stackwright.examine.rights import Right, needed
from stackwright.forecast.simulate import Cause
from stackwright.local.image.published.verify import State, Verified
from support.paths import ROOT
from tests.unit.examine.examined import dns, node, storage_class

OURS = "lcm.mirantis.com"
CONTROL = ("openstack-control-plane", "enabled")
COMPUTE = ("openstack-compute-node", "enabled")
BOTH = "capacity of openstack-control-plane=enabled and openstack-compute-node=enabled"
GIB = Decimal(1 << 30)
SMALL = Pods("openstack/keystone-api", 2, dict([CONTROL]), Decimal("0.5"), GIB)
HOST = Pods("openstack/libvirt", None, dict([COMPUTE]), Decimal("0.1"), GIB, host=True)
DEMAND = Demand(
    clouds={("openstack", "cloud"): "OpenStackDeployment"},
    labels={CONTROL: ("keystone",), COMPUTE: ("nova",)},
    classes={"": ("openstack/openstack-mariadb",)},
    domains=frozenset({"cluster.local"}),
    pods=(SMALL, HOST),
    ingress_classes={"openstack-ingress": ("openstack", "openstack-ingress")},
)
COREFILE = ".:53 {\n    errors\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n    }\n}\n"
LISTS: dict[Kind, list[dict[str, Any]] | None] = {
    NODE: [node()],
    POD: [],
    STORAGE_CLASS: [storage_class()],
    INGRESS_CLASS: [],
    VALIDATING_WEBHOOK: [],
    MUTATING_WEBHOOK: [],
    NAMESPACE: [],
    SERVICE: [dns()],
}
FIT = Observed(version="v1.35.2", image_volumes="", lists=LISTS, corefile=COREFILE)


def on(kind: Kind, *objects: dict[str, Any] | None) -> Observed:
    """The fit cluster with other objects of a kind; None: the user may not list them."""
    return replace(FIT, lists={**LISTS, kind: None if objects == (None,) else list(objects)})


def found(seen: Observed, demand: Demand = DEMAND) -> list[Finding]:
    return [each for each in check(seen, demand) if each.level != "ok"]


def hook(kind: Kind, name: str, group: str = OURS, resource: str = "openstackdeployments") -> dict[str, Any]:
    rules = [{"apiGroups": [group], "resources": [resource]}]
    return {"kind": kind.kind, "metadata": {"name": name}, "webhooks": [{"rules": rules}]}


def crd(*categories: str) -> dict[str, Any]:
    name = "openstackdeployments.lcm.mirantis.com"
    return {name: {"metadata": {"name": name}, "spec": {"names": {"categories": list(categories)}}}}


def cloud(name: str, namespace: str = "openstack", kind: str = "OpenStackDeployment") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}}


def ingress_class(name: str, release: str = "") -> dict[str, Any]:
    space, _, owner = release.partition("/")
    notes = {"meta.helm.sh/release-namespace": space, "meta.helm.sh/release-name": owner} if release else {}
    return {"metadata": {"name": name, "annotations": notes}}


def balanced(*addresses: str) -> dict[str, Any]:
    status = {"loadBalancer": {"ingress": [{"ip": each} for each in addresses]}}
    meta = {"namespace": "web", "name": "site"}
    return {"metadata": meta, "spec": {"type": "LoadBalancer"}, "status": status}


def space(level: str) -> dict[str, Any]:
    return {"metadata": {"name": "openstack", "labels": {"pod-security.kubernetes.io/enforce": level}}}


def busy(cpu: str, **more: Any) -> dict[str, Any]:
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    spec = {"nodeName": "node1", "containers": containers, **more.get("spec", {})}
    return {
        "metadata": {"namespace": more.get("namespace", "x"), "name": "p"},
        "spec": spec,
        "status": more.get("status", {}),
    }


TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
CASES: dict[str, tuple[Observed, Demand, str, str, str]] = {
    # name: (seen, demand, level, subject, a part of text and remedy)
    "old server": (replace(FIT, version="v1.31.9"), DEMAND, "problem", "Kubernetes", "1.32 or later is required"),
    "odd version": (replace(FIT, version="main"), DEMAND, "note", "Kubernetes", "'main' is not understood"),
    "no image volumes": (
        replace(FIT, image_volumes="refused"), DEMAND, "note", "image volumes",
        "--feature-gates=ImageVolume=true, or install the operator's chart with images.volumes: false.",
    ),
    "image volumes unknown": (replace(FIT, image_volumes=None), DEMAND, "note", "image volumes", "not known"),
    "rights unknown": (replace(FIT, lacking=None), DEMAND, "note", "permissions", "does not tell"),
    "no classes known": (on(STORAGE_CLASS, None), DEMAND, "note", "StorageClass", "may not list"),
    "no default class": (
        on(STORAGE_CLASS, storage_class("slow", default=False)), DEMAND, "problem", "StorageClass",
        "volumes of openstack/openstack-mariadb need one",
    ),
    "no default class, no manifest": (on(STORAGE_CLASS), Demand(), "problem", "StorageClass", "there is none"),
    "named class": (
        FIT, replace(DEMAND, classes={"ssd": ("openstack/openstack-etcd",)}), "problem", "StorageClass ssd",
        "there is fast",
    ),
    "two defaults": (
        on(STORAGE_CLASS, storage_class("a"), storage_class("b")), DEMAND, "note", "StorageClass",
        "several defaults: a, b",
    ),
    "immediate binding": (
        on(STORAGE_CLASS, storage_class(mode="Immediate")), DEMAND, "note", "StorageClass fast", "WaitForFirstConsumer",
    ),
    "no nodes known": (on(NODE, None), DEMAND, "problem", "nodes", "may not list nodes"),
    "not ready": (
        on(NODE, node(), node("b", ready=False)), DEMAND, "problem", "node b", "`kubectl describe node b`",
    ),
    "cordoned": (
        on(NODE, node(), node("b", spec={"unschedulable": True})), DEMAND, "note", "node b", "`kubectl uncordon b`",
    ),
    "arm": (on(NODE, node(info={"architecture": "arm64"})), DEMAND, "problem", "node node1", "for amd64 only"),
    "old kubelet": (
        on(NODE, node(info={"kubeletVersion": "v1.31.9"})), DEMAND, "problem", "node node1", "kubelet is v1.31.9",
    ),
    "kubelet without image volumes": (
        on(NODE, node(info={"kubeletVersion": "v1.34.1"})), DEMAND, "note", "node node1",
        "v1.34.1, which does not mount image volumes. Upgrade it to the version of the API server, or install the "
        "operator's chart with images.volumes: false.",
    ),
    "old containerd": (
        on(NODE, node(info={"containerRuntimeVersion": "containerd://1.7.29"})), DEMAND, "note", "node node1",
        "containerd 1.7.29, which does not mount image volumes. Upgrade containerd to 2.1 or later, or install the "
        "operator's chart with images.volumes: false.",
    ),
    "old cri-o": (
        on(NODE, node(info={"containerRuntimeVersion": "cri-o://1.30.2"})), DEMAND, "note", "node node1",
        "Upgrade cri-o to 1.31",
    ),
    "no label": (
        on(NODE, node(labels=dict([CONTROL]))), DEMAND, "problem", "label openstack-compute-node=enabled",
        "needed for nova. `kubectl label node NODE openstack-compute-node=enabled`",
    ),
    "no label, no manifest": (
        on(NODE, node(labels={})), Demand(labels={COMPUTE: ("nova",)}), "note", "label openstack-compute-node=enabled",
        "needed for nova",
    ),
    "all tainted": (
        on(NODE, node(spec={"taints": [TAINT]})), DEMAND, "problem", "node node1",
        "`kubectl taint node node1 dedicated=db:NoSchedule-`",
    ),
    "one tainted": (
        on(NODE, node("a"), node("b", spec={"taints": [TAINT]})), DEMAND, "note", "node b", "dedicated=db:NoSchedule",
    ),
    "full": (
        on(POD, busy("7500m")), DEMAND, "problem", BOTH,
        "requested: 1.1 CPU and 3.0 GiB; free on 1 nodes: 0.5 CPU and 32.0 GiB",
    ),
    "too little memory": (
        on(NODE, node(allocatable={"cpu": "8", "memory": "1Gi"})), DEMAND, "problem", BOTH,
        "free on 1 nodes: 8.0 CPU and 1.0 GiB",
    ),
    "each label fits, but not both": (
        on(NODE, node(allocatable={"cpu": "1050m", "memory": "2560Mi"})), DEMAND, "problem", BOTH,
        "They share nodes, so their pods share what is free. requested: 1.1 CPU and 3.0 GiB; free on 1 nodes: "
        "1.0 CPU and 2.5 GiB Label further nodes with `kubectl label node NODE openstack-control-plane=enabled "
        "openstack-compute-node=enabled`, or choose",
    ),
    "a pod of each node leaves too little": (
        on(NODE, node(allocatable={"cpu": "1050m", "memory": "8Gi"}), node("b", labels=dict([COMPUTE]))), DEMAND,
        "problem", "capacity of openstack-control-plane=enabled", "requested: 1.1 CPU and 3.0 GiB; free on 1 nodes",
    ),
    "pods with any node": (
        FIT, replace(DEMAND, pods=(Pods("openstack/a", 9, {}, Decimal(1)),)), "problem", "capacity of all nodes",
        "requested: 9.0 CPU and 0.0 GiB; free on 1 nodes: 8.0 CPU and 32.0 GiB Add nodes, or choose",
    ),
    "no helm": (FIT, replace(DEMAND, pods=None), "note", "capacity", "helm was not found"),
    "no pods known": (on(POD, None), DEMAND, "note", "capacity", "may not list pods"),
    "pods refused": (replace(on(POD, None), refused={POD: "a webhook"}), DEMAND, "note", "capacity", "pods: a webhook"),
    "no DNS": (on(SERVICE), DEMAND, "problem", "cluster DNS", "k8s-app=kube-dns"),
    "DNS unknown": (on(SERVICE, None), DEMAND, "note", "cluster DNS", "may not list Services"),
    "other domain": (
        replace(FIT, corefile=COREFILE.replace("cluster.local", "k8s.example")), DEMAND, "problem", "cluster DNS",
        "Set spec.internal_domain_name: k8s.example",
    ),
    "other domain, no manifest": (
        replace(FIT, corefile=COREFILE.replace("cluster.local", "k8s.example")), Demand(), "note", "cluster DNS",
        "The domain of this cluster is k8s.example",
    ),
    "restricted": (
        on(NAMESPACE, space("restricted")), DEMAND, "problem", "namespace openstack", "their node: openstack/libvirt",
    ),
    "foreign kind": (
        replace(FIT, kinds=crd()), DEMAND, "problem",
        "CustomResourceDefinition openstackdeployments.lcm.mirantis.com", "belongs to another program",
    ),
    "foreign webhook": (
        on(MUTATING_WEBHOOK, hook(MUTATING_WEBHOOK, "other")), DEMAND, "problem",
        "MutatingWebhookConfiguration other", "`kubectl delete mutatingwebhookconfigurations other`",
    ),
    "left webhook": (
        on(VALIDATING_WEBHOOK, hook(VALIDATING_WEBHOOK, "stackwright")), DEMAND, "problem",
        "ValidatingWebhookConfiguration stackwright", "its operator is not installed",
    ),
    "webhook of an unknown operator": (
        replace(on(VALIDATING_WEBHOOK, hook(VALIDATING_WEBHOOK, "stackwright")), hidden="not allowed"), DEMAND, "note",
        "ValidatingWebhookConfiguration stackwright", "whether its operator is installed is unknown: not allowed",
    ),
    "other cloud": (replace(FIT, clouds=[cloud("old")]), DEMAND, "problem", "namespace openstack", "old already"),
    "cloud of another kind": (
        replace(FIT, clouds=[cloud("cloud", kind="OpenStackControlPlane")]), DEMAND, "problem", "namespace openstack",
        "OpenStackControlPlane cloud already",
    ),
    "foreign ingress class": (
        on(INGRESS_CLASS, ingress_class("openstack-ingress")), DEMAND, "problem", "IngressClass openstack-ingress",
        "another program",
    ),
    "ingress class of another cloud": (
        on(INGRESS_CLASS, ingress_class("openstack-ingress", "b/openstack-ingress")), DEMAND, "problem",
        "IngressClass openstack-ingress", "the release b/openstack-ingress",
    ),
    "left of nodes": (
        on(NAMESPACE, {**pod.namespace("stackwright-doctor-1"), "kind": "Namespace"}), DEMAND, "note",
        "namespace stackwright-doctor-1", "`kubectl delete namespace stackwright-doctor-1`",
    ),
    "no load balancer": (on(SERVICE, dns(), balanced()), DEMAND, "note", "load balancer", "web/site"),
    "stuck": (
        FIT, replace(DEMAND, stuck={"Keystone openstack/keystone": Cause("no image", "ImageMissing")}), "problem",
        "Keystone openstack/keystone", "no image",
    ),
}  # fmt: skip


MISSING = Cause("Waiting for x; create it", "BlockedMissingSecret")
CEPH = Cause("Waiting for keys", "WaitingForCeph")
CAUSES = {
    "OpenStackDeployment a/cloud": Cause("Ingress: Waiting for x; create it", "BlockedMissingSecret"),
    "Ingress a/ingress": MISSING,
    "Nova a/nova": Cause("Waiting for CephClient a/nova: Waiting …", "WaitingForCeph", Wait("CephClient a/nova")),
    "CephClient a/glance": CEPH,
    "CephClient a/nova": CEPH,
}


def test_each_cause_is_one_finding_and_what_users_provide_later_is_a_note() -> None:
    demand = replace(DEMAND, stuck=CAUSES, clouds={("a", "cloud"): "OpenStackDeployment"})
    assert [(each.subject, each.level, each.text) for each in found(FIT, demand)] == [
        ("Ingress a/ingress", "problem", str(MISSING)),
        ("CephClient a/glance, CephClient a/nova", "note", str(CEPH)),
    ]
    remedies = [each.remedy for each in found(FIT, demand)]
    assert remedies[0].startswith("Create the Secret before you apply the cloud")
    assert remedies[1].startswith("Apply the cloud, then create pools and keys")
    alone = {"OpenStackDeployment a/cloud": Cause("size", "InvalidSpec"), "Ingress a/ingress": MISSING}
    assert [each.subject for each in found(FIT, replace(demand, stuck=alone))] == [*alone]
    assert found(FIT, replace(demand, stuck=alone))[0].remedy.startswith("Correct the manifest")
    text = "Secrets that cannot be read count as missing, such as a/s: forbidden."
    assert found(FIT, replace(demand, hidden={("a", "s"): "forbidden", ("a", "t"): "forbidden"}))[-1].text == text
    assert found(FIT, replace(DEMAND, hidden={("a", "s"): "forbidden"})) == []
    hidden = replace(demand, hidden={("a", "s"): "forbidden"})
    assert {each.level for each in found(FIT, hidden)} == {"note"}, "what cannot be read may exist"


def test_a_wait_for_nothing_that_is_stuck_is_a_cause() -> None:
    demand = replace(DEMAND, stuck={"Nova a/nova": Cause("Waiting", "Waiting", Wait("Keystone b/keystone"))})
    assert [each.subject for each in found(FIT, demand)] == ["Nova a/nova"]


def test_our_own_kinds_belong_to_no_other_program() -> None:
    """Those of Cluster API did, by their category, on each cluster with an operator."""
    files = (ROOT / "charts/stackwright/files/crds").glob("*.yaml")
    kinds = {crd["metadata"]["name"]: crd for crd in (yaml.safe_load(path.read_text()) for path in files)}
    assert len(kinds) > 20
    assert found(replace(FIT, kinds=kinds)) == []
    [(name, earlier)] = crd("cluster-api").items()
    assert [each.level for each in found(replace(FIT, kinds={name: earlier}))] == ["problem"]
    earlier["metadata"]["annotations"] = {"meta.helm.sh/release-name": "stackwright"}
    assert found(replace(FIT, kinds={name: earlier})) == []


def test_a_fit_cluster_has_no_finding() -> None:
    assert found(FIT) == []
    assert found(FIT, Demand()) == []


def test_before_kubernetes_1_35_nothing_needs_image_volumes() -> None:
    """The operator's chart then uses init containers."""
    info = {"kubeletVersion": "v1.34.1", "containerRuntimeVersion": "containerd://1.7.29"}
    seen = replace(on(NODE, node(info=info)), version="v1.34.9", image_volumes="refused")
    assert found(seen) == []


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fault_is_one_finding_with_a_remedy(case: tuple[Observed, Demand, str, str, str]) -> None:
    seen, demand, level, subject, part = case
    [one] = found(seen, demand)
    assert (one.level, one.subject) == (level, subject)
    assert part in f"{one.text} {one.remedy}"
    assert one.remedy


FINE: dict[str, tuple[Observed, Demand]] = {
    "several sizes of versions": (replace(FIT, version="v1.100.0-rc.1+vendor"), DEMAND),
    "a class that is named": (
        on(STORAGE_CLASS, storage_class("ssd", default=False)), replace(DEMAND, classes={"ssd": ()}),
    ),
    "nodes of others": (on(NODE, node(), node("b", labels={}, ready=False, info={"architecture": "arm64"})), DEMAND),
    "an unknown runtime": (on(NODE, node(info={"containerRuntimeVersion": "other://1.0"})), DEMAND),
    "a tolerated taint": (
        on(NODE, node(spec={"taints": [TAINT]})),
        replace(DEMAND, tolerations=({"key": "dedicated", "operator": "Exists"},)),
    ),
    "a preference": (on(NODE, node(spec={"taints": [{**TAINT, "effect": "PreferNoSchedule"}]})), DEMAND),
    "pods that ended": (on(POD, busy("8", status={"phase": "Succeeded"})), DEMAND),
    "pods that failed": (on(POD, busy("8", status={"phase": "Failed"})), DEMAND),
    "pods elsewhere": (on(POD, busy("8", spec={"nodeName": "other"})), DEMAND),
    "pods of the cloud itself": (on(POD, busy("8", namespace="openstack")), DEMAND),
    "an unknown domain": (replace(FIT, corefile=""), DEMAND),
    "privileged": (on(NAMESPACE, space("privileged")), DEMAND),
    "pods without needs of nodes": (on(NAMESPACE, space("restricted")), replace(DEMAND, pods=(SMALL,))),
    "our kind": (replace(FIT, kinds=crd("all", "stackwright")), DEMAND),
    "webhooks for other kinds": (
        on(VALIDATING_WEBHOOK, hook(VALIDATING_WEBHOOK, "x", "apps", "*"),
           hook(VALIDATING_WEBHOOK, "y", "lcm.mirantis.com", "others")), DEMAND,
    ),
    "our webhook": (
        replace(on(VALIDATING_WEBHOOK, hook(VALIDATING_WEBHOOK, "stackwright")), operator={"a": 1}), DEMAND,
    ),
    "the same cloud": (replace(FIT, clouds=[cloud("cloud"), cloud("b", "elsewhere")]), DEMAND),
    "our ingress class": (
        on(INGRESS_CLASS, ingress_class("openstack-ingress", "openstack/openstack-ingress"), ingress_class("x")),
        DEMAND,
    ),
    "a load balancer": (on(SERVICE, dns(), balanced(), balanced("192.0.2.9")), DEMAND),
}  # fmt: skip


@pytest.mark.parametrize("case", FINE.values(), ids=FINE)
def test_what_is_fine_is_no_finding(case: tuple[Observed, Demand]) -> None:
    assert found(*case) == []


def test_without_a_labelled_node_all_nodes_are_examined() -> None:
    assert "node a" in {each.subject for each in found(on(NODE, node("a", labels={}, ready=False)))}


def capacity(seen: Observed, demand: Demand = DEMAND) -> dict[str, tuple[str, str]]:
    """Subject → level and text."""
    head = "capacity of "
    return {
        each.subject.removeprefix(head): (each.level, each.text)
        for each in check(seen, demand)
        if each.subject.startswith(head)
    }


@pytest.mark.parametrize(
    "changes", [{"spec": {"unschedulable": True}}, {"ready": False}, {"spec": {"taints": [TAINT]}}]
)
def test_nodes_that_accept_no_pod_have_no_capacity(changes: dict[str, Any]) -> None:
    small = node("a", allocatable={"cpu": "1", "memory": "1Gi"})
    [(level, text)] = capacity(on(NODE, small, node("b", **changes))).values()
    assert (level, text.partition("; ")[2]) == ("problem", "free on 1 nodes: 1.0 CPU and 1.0 GiB")


def test_a_pod_on_each_node_is_requested_for_each_node() -> None:
    text = "requested: 1.2 CPU and 4.0 GiB; free on 2 nodes: 16.0 CPU and 64.0 GiB"
    assert list(capacity(on(NODE, node("a"), node("b"))).values()) == [("ok", text)]


def test_the_memory_of_other_pods_is_not_free() -> None:
    other = busy("1", spec={"containers": [{"resources": {"requests": {"cpu": "1", "memory": "31Gi"}}}]})
    [(level, text)] = capacity(on(POD, other)).values()
    assert (level, text.partition("; ")[2]) == ("problem", "free on 1 nodes: 7.0 CPU and 1.0 GiB")


def test_labels_without_a_common_node_are_counted_apart() -> None:
    apart = on(NODE, node("a", labels=dict([CONTROL])), node("b", labels=dict([COMPUTE])))
    assert capacity(apart) == {
        "openstack-control-plane=enabled": (
            "ok", "requested: 1.0 CPU and 2.0 GiB; free on 1 nodes: 8.0 CPU and 32.0 GiB"
        ),
        "openstack-compute-node=enabled": (
            "ok", "requested: 0.1 CPU and 1.0 GiB; free on 1 nodes: 8.0 CPU and 32.0 GiB"
        ),
    }  # fmt: skip


def chain(cpu: int, *more: Pods) -> dict[str, tuple[str, str]]:
    """Capacity of three nodes of 1 CPU for x on a and b, y on b and c, each with one pod of so many CPUs."""
    one = {"cpu": "1", "memory": "1Gi"}
    named = {"a": {"x": "1"}, "b": {"x": "1", "y": "1"}, "c": {"y": "1"}}
    pods = [Pods(f"openstack/{label}", cpu, {label: "1"}, Decimal(1)) for label in ("x", "y")]
    seen = on(NODE, *(node(name, labels=labels, allocatable=one) for name, labels in named.items()))
    return capacity(seen, replace(DEMAND, pods=(*pods, *more)))


def test_labels_that_share_some_nodes_are_also_compared_together() -> None:
    assert {name: level for name, (level, _) in chain(1).items()} == {"x=1": "ok", "y=1": "ok"}
    together = chain(2)
    assert {name: level for name, (level, _) in together.items()} == {
        "x=1": "ok",
        "y=1": "ok",
        "x=1 and y=1": "problem",
    }
    assert "requested: 4.0 CPU and 0.0 GiB; free on 3 nodes: 3.0 CPU" in together["x=1 and y=1"][1]
    assert {name: level for name, (level, _) in chain(3).items()} == {"x=1": "problem", "y=1": "problem"}, "once each"


def test_pods_with_any_node_are_counted_with_those_of_a_label() -> None:
    pods = [Pods("openstack/x", 1, {"x": "1"}, Decimal(1)), Pods("openstack/any", 7, {}, Decimal(1))]
    named = (node(name, labels={"x": "1"} if name == "a" else {}, allocatable={"cpu": "4"}) for name in "ab")
    found = capacity(on(NODE, *named), replace(DEMAND, pods=tuple(pods)))
    assert {name: text.partition(" and 0.0")[0] for name, (_, text) in found.items()} == {
        "x=1": "requested: 1.0 CPU", "x=1 and all nodes": "requested: 8.0 CPU",
    }  # fmt: skip


def test_a_label_may_join_two_others() -> None:
    """Any two of p on a and d, r on b and c, and x on a and c fit, but not the three."""
    spots = {"a": {"p": "1", "x": "1"}, "b": {"r": "1"}, "c": {"r": "1", "x": "1"}, "d": {"p": "1"}}
    pods = [Pods(f"openstack/{label}", 2, {label: "1"}, Decimal(1)) for label in ("p", "r")]
    pods.append(Pods("openstack/x", 1, {"x": "1"}, Decimal(1)))
    one = {"cpu": "1", "memory": "1Gi"}
    seen = on(NODE, *(node(name, labels=labels, allocatable=one) for name, labels in spots.items()))
    found = capacity(seen, replace(DEMAND, pods=tuple(pods)))
    assert [name for name, (level, _) in found.items() if level == "problem"] == ["p=1 and r=1 and x=1"]


def overlapping(count: int, cpu: int) -> dict[str, str]:
    """Labels with one common node and one of their own each, of 1 CPU, and so many pods of 1 CPU each: name → level."""
    one = {"cpu": "1", "memory": "1Gi"}
    labels = [f"l{number:02}" for number in range(count)]
    named = [node("common", labels=dict.fromkeys(labels, "1"), allocatable=one)]
    named += [node(f"of-{label}", labels={label: "1"}, allocatable=one) for label in labels]
    pods = tuple(Pods(f"openstack/{label}", cpu, {label: "1"}, Decimal(1)) for label in labels)
    return {name: level for name, (level, _) in capacity(on(NODE, *named), replace(DEMAND, pods=pods)).items()}


def test_many_labels_may_overlap_in_any_way() -> None:
    """Of 30 labels, 2^30 unions differ. The fewest that do not fit together are named, and each label once."""
    assert set(overlapping(30, 1).values()) == {"ok"}
    crowded = overlapping(30, 2)
    together = {name: name.count("=") for name, level in crowded.items() if level == "problem"}
    assert set(together.values()) == {2}
    assert len(together) == 15
    assert len({label for name in together for label in name.split(" and ")}) == 30


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.integers(0, 4)), min_size=1, max_size=5))
def test_labels_fit_together_if_each_set_of_them_does(drawn: list[tuple[set[str], int]]) -> None:
    one = {"cpu": "1", "memory": "1Gi"}
    labels = {f"l{number}": spots for number, (spots, _) in enumerate(drawn)}
    named = [node(spot, labels={label: "1" for label, spots in labels.items() if spot in spots}) for spot in "abcd"]
    named = [{**each, "status": {**each["status"], "allocatable": one}} for each in named]
    pods = tuple(
        Pods(f"openstack/l{number}", cpu, {f"l{number}": "1"}, Decimal(1)) for number, (_, cpu) in enumerate(drawn)
    )
    found = capacity(on(NODE, *named), replace(DEMAND, pods=pods))
    sets = (each for size in range(1, 6) for each in combinations(drawn, size))
    fits = all(sum(cpu for _, cpu in each) <= len(set().union(*(spots for spots, _ in each))) for each in sets)
    assert all(level == "ok" for level, _ in found.values()) == fits


def test_missing_rights_are_one_finding_for_each_group() -> None:
    lacking = [
        Right("", "secrets", "create", "stackwright"),
        Right("", "secrets", "list", "stackwright"),
        Right("", "namespaces", "create"),
        Right("apps", "deployments", "create", "stackwright"),
    ]
    core, apps = found(replace(FIT, lacking=lacking))
    assert core.text == (
        "This user may not create, list secrets in namespace stackwright; create namespaces (API group core)."
    )
    assert apps.text == "This user may not create deployments in namespace stackwright (API group apps)."


def test_the_rights_are_those_for_the_objects_of_the_chart() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}
    policy = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": "stackwright"},
    }
    rights = needed([role, policy])
    assert Right("rbac.authorization.k8s.io", "clusterroles", "escalate") in rights, "the role gives no rights"
    assert Right("policy", "poddisruptionbudgets", "patch", "stackwright") in rights
    assert Right("apiextensions.k8s.io", "customresourcedefinitions", "create") in rights
    assert not any(each.group == "policy" for each in needed([role]))
    for verb in ("get", "list", "create", "update", "delete"):
        assert Right("", "secrets", verb, "stackwright") in rights, "of helm's records"
    assert {Right("", "namespaces", "create"), Right("", "pods", "list", "stackwright")} <= set(rights)
    assert Right("apps", "deployments", "get", "a").attributes == {
        "group": "apps", "resource": "deployments", "verb": "get", "namespace": "a",
    }  # fmt: skip


RBAC = "rbac.authorization.k8s.io"


def rbac(kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, **fields}


def ref(kind: str, name: str) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}}


def test_roles_and_bindings_need_a_right_to_give_rights() -> None:
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    rules = [{**leases, "resourceNames": ["l"], "verbs": ["get", "patch"]}, {**leases, "verbs": ["create"]}]
    logs = {"apiGroups": ["", "x"], "resources": ["pods/log"], "verbs": ["get"]}
    installed = [
        rbac("Role", "lease", "a", rules=rules),
        rbac("RoleBinding", "lease", "a", **ref("Role", "lease")),
        rbac("ClusterRole", "operator", rules=[logs]),
        rbac("ClusterRoleBinding", "operator", **ref("ClusterRole", "operator")),
        rbac("RoleBinding", "logs", "b", **ref("ClusterRole", "operator")),
        rbac("RoleBinding", "foreign", "b", **ref("ClusterRole", "view")),
        rbac("ClusterRole", "urls", rules=[logs, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    ]
    group = "coordination.k8s.io"
    lease = (
        Right(group, "leases", "create", "a"), Right(group, "leases", "get", "a", "l"),
        Right(group, "leases", "patch", "a", "l"),
    )  # fmt: skip

    def read(namespace: str = "") -> tuple[Right, ...]:
        return tuple(Right(group, "pods/log", "get", namespace) for group in ("", "x"))

    assert [right for right in needed(installed) if right.verb in ("bind", "escalate")] == [
        Right(RBAC, "clusterroles", "bind", "", "operator", read()),
        Right(RBAC, "clusterroles", "bind", "b", "operator", read("b")),
        Right(RBAC, "clusterroles", "bind", "b", "view"),
        Right(RBAC, "clusterroles", "escalate"),
        Right(RBAC, "clusterroles", "escalate", instead=read()),
        Right(RBAC, "roles", "bind", "a", "lease", lease),
        Right(RBAC, "roles", "escalate", "a", "", lease),
    ]
    assert read()[0].attributes == {"resource": "pods", "subresource": "log", "verb": "get"}
    assert lease[1].attributes["name"] == "l"
    [one] = found(replace(FIT, lacking=[Right(RBAC, "roles", "bind", "a", "lease", lease)]))
    assert one.text == f"This user may not bind roles/lease in namespace a (API group {RBAC})."


def test_parameters_of_admission_policies_must_be_readable() -> None:
    """Their kind is as new as the policy, so the API server wants the right for the whole group."""
    api = "admissionregistration.k8s.io/v1"
    kind = {"paramKind": {"apiVersion": "x.test/v1", "kind": "Cloud"}}

    def installed(**reference: Any) -> list[dict[str, Any]]:
        bound = {"policyName": "a", "paramRef": reference}
        return [
            {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a"}, "spec": kind},
            {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": bound},
        ]

    def verbs(objects: list[dict[str, Any]]) -> list[str]:
        return [right.verb for right in needed(objects) if (right.group, right.resource) == ("x.test", "*")]

    assert verbs(installed(selector={})) == ["get", "list"]
    assert verbs(installed(name="c")) == ["get"]
    assert verbs(installed(selector={})[1:]) == []


def test_the_guide_names_the_runtimes_that_mount_image_volumes() -> None:
    oldest = {name: ".".join(map(str, version)) for name, version in nodes.RUNTIMES.items()}
    guide = (ROOT / "docs/howto/existing-cluster.md").read_text()
    assert f"which needs containerd {oldest['containerd']} or CRI-O {oldest['cri-o']}." in guide


@pytest.mark.parametrize(
    ("ages", "newest"), [({"a": "2026-01-01T00:00:00Z", "b": "2026-02-01T00:00:00Z"}, "b"), ({"b": "", "a": ""}, "a")]
)
def test_of_several_default_classes_the_newest_is_checked(ages: dict[str, str], newest: str) -> None:
    """Of those with the same age it is the first by name, as in Kubernetes."""
    classes = [storage_class(name, "Immediate" if name == newest else "WaitForFirstConsumer") for name in ages]
    for each in classes:
        each["metadata"]["creationTimestamp"] = ages[each["metadata"]["name"]]
    binding, several = sorted(found(on(STORAGE_CLASS, *classes)), key=lambda each: "several" in each.text)
    assert binding.subject == f"StorageClass {newest}"
    assert several.text == f"There are several defaults: a, b; the newest is used, {newest}."


def test_without_helm_every_pod_may_need_its_node() -> None:
    _, one = found(on(NAMESPACE, space("baseline")), replace(DEMAND, pods=None))
    assert one.remedy == (
        "`kubectl label --overwrite namespace openstack pod-security.kubernetes.io/enforce=privileged`"
    )


def test_missing_images_name_the_push() -> None:
    def one(name: str, state: State) -> Verified:
        return Verified(name, f"r.example/{name}:1", None, state)

    fine = [one("nova", State.OK), one("own", State.ELSEWHERE)]
    assert images.findings("images", "r.example", fine)[0].level == "ok"
    [lacking] = images.findings("images", "r.example", [*fine, one("glance", State.MISSING)])
    assert (lacking.level, lacking.text) == ("problem", "1 of 3 images: glance missing")
    assert lacking.remedy == "`stackwright images push r.example`"
