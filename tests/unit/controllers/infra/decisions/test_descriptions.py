"""Descriptions in Neutron: a text of at most 255 characters, of which the last are our mark."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant.rest.requests import run
from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.cluster.parts import SecurityGroupRule
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.ports import LENGTH, TEXT, PortOpts
from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.capicluster.objects import Wanted, parts
from stackwright.controllers.floatingippool.objects import part
from stackwright.controllers.floatingippool.observe import Found, Observed
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Object
from tests.unit.controllers.infra.decisions.specs import ID
from tests.unit.controllers.infra.decisions.strategies import CLOUD, UID

SPEC: Object = {
    "identityRef": {"name": "clouds", "cloudName": "mine"},
    "flavor": "small",
    "image": {"id": ID},
    "sshKeyName": "",
}
NAME = "n" * 253


def sent(resource_key: ResourceKey, body: Any) -> str:
    """The description as Neutron gets it."""
    asked: list[str] = []

    class Answer:
        status_code, headers, text, content = 201, {"x-openstack-request-id": "req-1"}, "", b""

        def json(self) -> Any:
            return {resource_key[0].replace("-", "_"): {"id": "id"}, "floatingip": {"id": "id"}}

    class Service:
        def request(self, path: str, method: str, **more: Any) -> Answer:
            asked.extend(each["description"] for each in (more.get("json") or {}).values() if "description" in each)
            answer = Answer()
            answer.content = json.dumps(answer.json()).encode()
            answer.text = answer.content.decode()
            return answer

    class Connection:
        network, session = Service(), Mock(auth=None)

    run(Connection(), CloudCall(CLOUD, "create", resource_key, UID, body=body), None)  # type: ignore[arg-type]
    (text,) = asked
    return text


@pytest.mark.parametrize("text", ["x" * TEXT, "\u00e4" * TEXT])
def test_the_longest_description_of_a_user_fits_with_the_mark(text: str) -> None:
    found = sent(("port", "web-0"), {"description": text})
    assert found.startswith(f"{text} [")
    assert len(found) == LENGTH


@pytest.mark.parametrize("field", ["description", "name"])
def test_a_description_that_does_not_fit_is_rejected(field: str) -> None:
    rule = {"name": "r", "direction": "ingress"}

    def cluster(text: str) -> list[str]:
        groups = {"workerNodesSecurityGroupRules": [{**rule, field: text}]}
        return OpenStackCluster.parsed({"spec": {"identityRef": SPEC["identityRef"], "managedSecurityGroups": groups}})[
            1
        ]

    assert not cluster("x" * TEXT)
    assert f"workerNodesSecurityGroupRules[0].{field}" in cluster("x" * (TEXT + 1))[0]
    for model in (SecurityGroupRule, PortOpts):
        schema = model.model_json_schema(by_alias=True)["properties"]["description"]
        assert [each["maxLength"] for each in schema["anyOf"] if "maxLength" in each] == [TEXT]
    port = {"network": {"id": ID}, "description": "x" * (TEXT + 1)}
    assert "ports[0].description" in OpenStackServer.parsed({"spec": {**SPEC, "ports": [port]}})[1][0]


def test_our_own_text_fits_with_any_name() -> None:
    key = ("s" * 63, NAME)
    want = Wanted(key, {"managedSubnets": [{"cidr": "10.6.0.0/24"}], "managedSecurityGroups": {}}, external="e")
    for each in parts(want):
        ids = dict.fromkeys([other.resource_key for other in parts(want)], "id")
        assert len(sent(each.resource_key, {**each.body(ids), "tags": []})) <= LENGTH
    obj = {"kind": OpenStackFloatingIPPool.KIND.kind, "metadata": {"namespace": key[0], "name": key[1], "uid": UID}}
    seen = Observed(obj, 0.0, {}, found=Found({"id": "net"}, {}))
    found = part(("floating-ip", "0"), seen).body({})
    assert len(sent(("floating-ip", "0"), found)) == LENGTH
    assert found["description"].startswith(f"Pool {key[0]}/nnn")
