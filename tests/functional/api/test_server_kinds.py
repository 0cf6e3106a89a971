"""The API server's validation of the kinds of infrastructure.cluster.x-k8s.io: accepted and rejected specs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.crd import crd
from stackwright.api.infra.capi import InfraResource
from stackwright.api.kinds import CRD
from stackwright.api.meta import Kind
from stackwright.api.rules import VALIDATIONS
from stackwright.cloud.registry import INFRA_KINDS, kind_of
from stackwright.core.errors import TerminalError
from support.infra_specs import ID, IDENTITY, MACHINE, OLDER, OTHER, RULE
from tests.functional.api.server_cases import (
    BASES,
    CHANGES,
    CLUSTER,
    CLUSTER_PARTS,
    FOUND,
    FREE,
    FULL,
    LATER,
    WRONG,
    Spec,
)

V1BETA1, V1BETA2 = "v1beta1", "v1beta2"


def of(kind: str, version: str = "") -> Kind:
    return replace(kind_of(kind), version=version) if version else kind_of(kind)


async def applied(cluster: KubernetesCluster, kind: Kind, namespace: str, spec: Spec) -> Spec:
    meta = {"name": "a" if kind.namespaced else namespace, **({"namespace": namespace} if kind.namespaced else {})}
    return (await cluster.apply(kind, {"metadata": meta, "spec": spec}, "test"))["spec"]


@pytest.mark.parametrize("resource", INFRA_KINDS, ids=lambda resource: resource.KIND.kind)
async def test_the_definition_is_accepted(cluster: KubernetesCluster, resource: type[InfraResource]) -> None:
    """The API server also checks the estimated cost of its rules."""
    await cluster.apply(CRD, crd(resource), "test")


async def test_a_server_with_all_fields_is_accepted_and_gets_defaults(
    cluster: KubernetesCluster, namespace: str
) -> None:
    spec = await applied(cluster, of("OpenStackServer"), namespace, FULL)
    assert spec["rootVolume"]["availabilityZone"] == {"from": "Name", "name": "z"}
    assert (spec["identityRef"]["type"], spec["trunk"], spec["configDrive"]) == ("Secret", False, False)
    assert spec["ports"] == FULL["ports"]


@pytest.mark.parametrize("version", [V1BETA1, V1BETA2])
@pytest.mark.parametrize("spelled", [OLDER, LATER], ids=["older", "later"])
@pytest.mark.parametrize("rules", ["allNodesSecurityGroupRules", "clusterNodesSecurityGroupRules"])
async def test_each_version_accepts_each_spelling_of_a_cluster(
    cluster: KubernetesCluster, namespace: str, version: str, spelled: Spec, rules: str
) -> None:
    spec = {**CLUSTER, **CLUSTER_PARTS, **spelled, "managedSecurityGroups": {rules: [RULE]}}
    found = await applied(cluster, of("OpenStackCluster", version), namespace, spec)
    assert {name: found[name] for name in spelled} == spelled
    assert found["managedSecurityGroups"] == {rules: [RULE], "allowAllInClusterTraffic": False}
    assert found["bastion"]["enabled"] is True


@pytest.mark.parametrize("flavor", ["m1.small", {"id": "7"}, {"filter": {"name": "m1.small"}}], ids=str)
@pytest.mark.parametrize(("one", "other"), [(V1BETA1, V1BETA2), (V1BETA2, V1BETA1)])
async def test_a_flavor_is_read_as_it_was_written_through_either_version(
    cluster: KubernetesCluster, namespace: str, flavor: Any, one: str, other: str
) -> None:
    await applied(cluster, of("OpenStackMachine", one), namespace, {**MACHINE, "flavor": flavor})
    found = await cluster.get(of("OpenStackMachine", other), (namespace, "a"))
    assert found
    assert (found["spec"]["flavor"], found["apiVersion"].rsplit("/")[-1]) == (flavor, other)
    spec = {**MACHINE, "flavor": flavor, "providerID": "openstack:///x"}
    assert (await applied(cluster, of("OpenStackMachine", other), namespace, spec))["flavor"] == flavor


async def test_the_other_kinds_are_accepted(cluster: KubernetesCluster, namespace: str) -> None:
    pool = {
        "identityRef": IDENTITY,
        "maxIPs": 3,
        "preAllocatedFloatingIPs": ["192.0.2.1"],
        "floatingIPNetwork": {"id": ID},
    }
    assert (await applied(cluster, of("OpenStackFloatingIPPool"), namespace, pool))["reclaimPolicy"] == "Retain"
    expression = {"key": "team", "operator": "In", "values": ["a"]}
    identity = {
        "secretRef": {"name": "c", "namespace": namespace},
        "namespaceSelector": {"matchExpressions": [expression]},
    }
    assert await applied(cluster, of("OpenStackClusterIdentity"), namespace, identity) == identity
    for version in (V1BETA1, V1BETA2):
        await applied(cluster, of("OpenStackMachineTemplate", version), namespace, {"template": {"spec": MACHINE}})


@pytest.mark.parametrize(("kind", "spec", "field", "message"), WRONG)
async def test_an_invalid_field_is_rejected_by_name(
    cluster: KubernetesCluster, namespace: str, kind: str, spec: Spec, field: str, message: str
) -> None:
    versions = (kind_of(kind).version, *kind_of(kind).also)
    for version in versions:
        with pytest.raises(TerminalError) as refused:
            await applied(cluster, of(kind, version), namespace, spec)
        assert f"{field}: " in str(refused.value)
        assert message in str(refused.value)


async def found_something(cluster: KubernetesCluster, kind: str, namespace: str) -> None:
    if kind == "OpenStackCluster":
        body = {"metadata": {"name": "a", "namespace": namespace}, "status": FOUND}
        await cluster.apply_status(of(kind), body, "status")


@pytest.mark.parametrize(("kind", "before", "after", "field", "message"), CHANGES)
async def test_a_change_of_an_immutable_field_is_rejected_by_name(
    cluster: KubernetesCluster, namespace: str, kind: str, before: Spec, after: Spec, field: str, message: str
) -> None:
    base = BASES[kind]
    await applied(cluster, of(kind), namespace, {**base, **before})
    await found_something(cluster, kind, namespace)
    with pytest.raises(TerminalError) as refused:
        await applied(cluster, of(kind), namespace, {**base, **after})
    assert f"{field}: " in str(refused.value)
    assert message in str(refused.value)


@pytest.mark.parametrize(("kind", "before", "after"), FREE)
async def test_a_mutable_field_can_change(
    cluster: KubernetesCluster, namespace: str, kind: str, before: Spec, after: Spec
) -> None:
    base = BASES[kind]
    await applied(cluster, of(kind), namespace, {**base, **before})
    await found_something(cluster, kind, namespace)
    await applied(cluster, of(kind), namespace, {**base, **after})


async def test_a_change_of_a_template_is_left_to_admission(cluster: KubernetesCluster, namespace: str) -> None:
    """A dry run of Cluster API's topology controller must succeed."""
    for image, region in ((ID, "one"), (OTHER, "two")):
        identity = {**IDENTITY, "region": region}
        machine = {**MACHINE, "image": {"id": image}, "identityRef": identity}
        await applied(cluster, of("OpenStackMachineTemplate"), namespace, {"template": {"spec": machine}})
        shared = {"identityRef": identity, "bastion": {"enabled": True, "spec": machine}}
        await applied(cluster, of("OpenStackClusterTemplate"), namespace, {"template": {"spec": shared}})


def rules(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(field, message) of every rule, without the places of lists."""
    for rule in schema.get(VALIDATIONS, ()):
        yield f"{path}{rule.get('fieldPath', '')}".lstrip("."), rule["message"]
    for name, child in (schema.get("properties") or {}).items():
        yield from rules(child, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from rules(schema["items"], f"{path}[0]")


def test_each_rule_was_seen_to_refuse() -> None:
    """Each message occurs in a test for each name of a field; a machine and a bastion share those of a server."""
    seen = {(field.rsplit(".", 1)[-1], message) for *_, field, message in (*WRONG, *CHANGES)}
    for resource in INFRA_KINDS:
        schema = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for field, message in rules(schema):
            name = field.rsplit(".", 1)[-1]
            assert (name, message) in seen, f"{resource.KIND.kind}: {field}: {message}"
