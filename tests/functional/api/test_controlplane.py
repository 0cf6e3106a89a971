"""The API server's defaults and validation of an OpenStackControlPlane."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.core.errors import TerminalError

KIND = OpenStackControlPlane.KIND
SPACE = "controlplane"


async def applied(cluster: KubernetesCluster, **sections: Any) -> dict[str, Any]:
    await cluster.apply(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, "test")
    spec = {"secret": "osp-secret", "storageClass": "", **sections}
    meta = {"name": "openstack", "namespace": SPACE}
    body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": spec}
    return await cluster.apply(KIND, body, "test")


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"swift": {"enabled": True}}, "spec.swift.enabled"),
        ({"swift": {"template": {"swiftRing": {"ringReplicas": 1}}}}, "spec.swift: .*remove it"),
        ({"tls": {"podLevel": {"enabled": True}}}, "spec.tls.podLevel.enabled"),
        ({"nodeSelector": {"a": "b"}}, "spec.nodeSelector"),
        ({"extraMounts": [{"name": "v1"}]}, "spec.extraMounts"),
        (
            {"keystone": {"template": {"networkAttachments": ["internalapi"]}}},
            "spec.keystone.template.networkAttachments",
        ),
        ({"keystone": {"template": {"fernetRotationDays": 2}}}, "spec.keystone.template.fernetRotationDays"),
        ({"glance": {"template": {"apiTimeout": 60}}}, "spec.glance.template.apiTimeout"),
        ({"galera": {"templates": {"openstack": {"replicas": 2}}}}, "spec.galera.templates.openstack.replicas"),
        ({"rabbitmq": {"templates": {"rabbitmq-cell1": {"replicas": 3}}}}, "rabbitmq-cell1.replicas"),
    ],
)
async def test_an_unsupported_field_is_rejected_by_name(
    cluster: KubernetesCluster, sections: dict[str, Any], named: str
) -> None:
    with pytest.raises(TerminalError, match=named):
        await applied(cluster, **sections)


async def test_disabled_sections_are_accepted_with_all_their_content(cluster: KubernetesCluster) -> None:
    swift = {"enabled": False, "template": {"swiftRing": {"ringReplicas": 1}}}
    assert (await applied(cluster, swift=swift))["spec"]["swift"] == swift
    manila, heat = {"template": {"manilaAPI": {"replicas": 1}}}, {"template": {"heatAPI": {"replicas": 1}}}
    found = (await applied(cluster, manila=manila, heat=heat))["spec"]
    assert (found["manila"], found["heat"]["template"]["heatAPI"]["replicas"]) == (manila, 1)


async def test_an_empty_value_is_accepted(cluster: KubernetesCluster) -> None:
    template = {"preserveJobs": False, "containerImage": "", "networkAttachments": [], "nodeSelector": {}}
    template |= {"externalKeystoneAPI": False, "tls": {"caBundleSecretName": ""}, "resources": {}, "override": {}}
    found = await applied(cluster, keystone={"template": template}, tls={"caBundleSecretName": ""}, nodeSelector={})
    assert template.items() <= found["spec"]["keystone"]["template"].items()


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ({"externalKeystoneAPI": True}, "externalKeystoneAPI"),
        ({"nodeSelector": {"a": "b"}}, "nodeSelector"),
        ({"containerImage": "x"}, "containerImage"),
        ({"tls": {"caBundleSecretName": "x"}}, "tls.caBundleSecretName"),
    ],
)
async def test_a_value_that_is_not_empty_is_rejected(
    cluster: KubernetesCluster, template: dict[str, Any], named: str
) -> None:
    with pytest.raises(TerminalError, match=f"spec.keystone.template.{named}: "):
        await applied(cluster, keystone={"template": template})


async def test_a_present_section_is_enabled_except_the_dashboard(cluster: KubernetesCluster) -> None:
    spec = (await applied(cluster, keystone={}, horizon={}))["spec"]
    assert (spec["keystone"]["enabled"], spec["horizon"]["enabled"]) == (True, False)
    assert "galera" not in spec
