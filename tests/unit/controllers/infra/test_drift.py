"""Changes of our resources by other clients are reverted; their additions are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stackwright.controllers.infra.drift import corrections, unmanaged_rules
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, Progress
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef, CloudResource, ProjectView, ResourceKey, mark

OWNER = Owner(CloudRef(("ns", "secret"), "cloud"), "uid")
GROUP: ResourceKey = ("security-group", "worker")
RULE: ResourceKey = ("security-group-rule", "worker ssh")


def changes(key: ResourceKey, wanted: Mapping[str, Any], have: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    thing = CloudResource(key[0], "1", facts=have)
    found = Progress({key: "1"}, existing={key: thing})
    return [call.body for call in corrections(OWNER, [DesiredResource(key, lambda record: wanted)], found)]


@pytest.mark.parametrize(
    ("what", "wanted", "have"),
    [
        ("server", {"metadata": {"a": "1"}}, {"metadata": {"a": "1", "theirs": "2"}}),
        ("server", {"tags": ["a"]}, {"tags": ["theirs", "a"]}),
        ("port", {"security_groups": ["1", "2"]}, {"security_groups": ["2", "1"]}),
        ("port", {"allowed_address_pairs": [{"ip_address": "10.0.0.9"}]},
                 {"allowed_address_pairs": [{"ip_address": "10.0.0.9", "mac_address": "fa:16:3e:00:00:01"}]}),
        ("port", {"allowed_address_pairs": [{"ip_address": "10.0.0.20"}, {"ip_address": "10.0.0.100"}]},
                 {"allowed_address_pairs": [{"ip_address": "10.0.0.100"}, {"ip_address": "10.0.0.20"}]}),
        *(("port", {"admin_state_up": text}, {"admin_state_up": True}) for text in ("true", "True", "1")),
        *(("port", {"admin_state_up": text}, {"admin_state_up": False}) for text in ("false", "FALSE", "0")),
        *(("network", {"mtu": text}, {"mtu": 1400}) for text in ("1400", " 1400\n")),
        ("port", {"tags": "a"}, {"tags": ["b"]}),  # Neutron converts no text to a list
        ("router", {"external_gateway_info": {"network_id": "n"}},
                   {"external_gateway_info": {"network_id": "n", "external_fixed_ips": [{"ip_address": "192.0.2.7"}]}}),
    ],
)  # fmt: skip
def test_additions_of_others_or_of_the_cloud_are_kept(what: Any, wanted: Any, have: Any) -> None:
    assert changes((what, "x"), wanted, have) == []


@pytest.mark.parametrize(
    ("what", "wanted", "have"),
    [
        ("server", {"metadata": {"a": "1"}}, {"metadata": {"a": "2"}}),
        ("port", {"admin_state_up": "false"}, {"admin_state_up": True}),
        ("port", {"admin_state_up": "1"}, {"admin_state_up": False}),
        ("port", {"admin_state_up": "true"}, {"admin_state_up": None}),
        ("network", {"mtu": "1400"}, {"mtu": 1500}),
        ("port", {"name": "1"}, {"name": "2"}),
        ("server", {"metadata": {"a": "1"}}, {"metadata": {}}),
        ("port", {"security_groups": ["1"]}, {"security_groups": ["1", "2"]}),
        ("port", {"allowed_address_pairs": []}, {"allowed_address_pairs": [{"ip_address": "10.0.0.9"}]}),
        ("subnet", {"dns_nameservers": ["1.1.1.1", "9.9.9.9"]}, {"dns_nameservers": ["9.9.9.9", "1.1.1.1"]}),
        ("router", {"external_gateway_info": {"network_id": "n"}}, {"external_gateway_info": None}),
    ],
)
def test_changed_fields_of_the_spec_are_reverted(what: Any, wanted: Any, have: Any) -> None:
    assert changes((what, "x"), wanted, have) == [wanted]


def test_tags_of_others_remain_when_ours_are_restored() -> None:
    assert changes(SERVER_KEY, {"tags": ["ours"]}, {"tags": ["theirs"]}) == [{"tags": ["ours", "theirs"]}]


def test_a_rule_is_deleted_if_it_is_neither_recorded_nor_marked_nor_in_another_group() -> None:
    """One that was recorded before it could be marked is ours."""

    def rule(id_: str, group: str = "g", mark_: str = "") -> CloudResource:
        return CloudResource("security-group-rule", id_, mark=mark_, facts={"security_group_id": group})

    things = (rule("recorded"), rule("marked", mark_=mark("uid", RULE)), rule("elsewhere", "other"), rule("foreign"))
    found = Progress({GROUP: "g", RULE: "recorded"}, existing={GROUP: CloudResource("security-group", "g")})
    assert [(call.do, call.id) for call in unmanaged_rules(OWNER, found, ProjectView(things))] == [
        ("delete", "foreign")
    ]
