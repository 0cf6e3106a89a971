"""A KeystoneService with a domain of users that the service itself creates."""

from __future__ import annotations

import configparser
from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.crd import crd
from stackwright.api.services.contracts import TRUSTEE_STAYS, KeystoneService, KeystoneServiceSpec
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.objects import claims
from stackwright.controllers.contract.observe import Observed
from stackwright.core.secrets.filling import fill
from tests.unit.controllers.builders import NAMESPACE, condition, obj

SPEC: dict[str, Any] = {
    "instance": "keystone",
    "serviceName": "heat",
    "serviceType": "orchestration",
    "username": "heat",
    "secretName": "heat-keystone",
    "endpoints": {"internal": "http://i", "public": "http://p"},
    "additionalRoles": ["heat_stack_user"],
    "trustee": {"domain": "heat", "username": "heat_domain_admin"},
}


def contract(name: str = "heat", **changes: Any) -> dict[str, Any]:
    return obj(KeystoneService.KIND, name, {**SPEC, **changes})


def test_the_secret_has_the_logins_of_both_users() -> None:
    spec = KeystoneServiceSpec.model_validate(SPEC)
    fields = {**IDENTITY.fixed(spec, NAMESPACE), "password": "P", "cache_key": "K", "trustee_password": "T"}
    assert set(IDENTITY.generated(spec)) <= fields.keys()
    conf = configparser.ConfigParser(interpolation=None)
    conf.read_string(fill(IDENTITY.templates(spec)["trustee.conf"], fields))
    assert dict(conf["DEFAULT"]) == {
        "stack_user_domain_name": "heat",
        "stack_domain_admin": "heat_domain_admin",
        "stack_domain_admin_password": "T",
    }
    trustee = {name: conf["trustee"][name] for name in conf["trustee"] if name not in conf["DEFAULT"]}
    assert trustee == {
        "auth_type": "password",
        "auth_url": "http://keystone-api.openstack.svc:5000/v3",
        "username": "heat",
        "password": "P",
        "user_domain_name": "Default",
    }, "a login with a trust must not name a project"


def test_without_a_trustee_secret_and_action_are_as_before() -> None:
    plain = {name: value for name, value in SPEC.items() if name not in ("trustee", "additionalRoles")}
    spec = KeystoneServiceSpec.model_validate(plain)
    assert "trustee.conf" not in IDENTITY.templates(spec)
    assert IDENTITY.generated(spec) == ("password", "cache_key")
    assert IDENTITY.fixed(spec, NAMESPACE).keys() == {"username", "auth_url", "region_name"}
    assert not any("domain" in claim for claim in IDENTITY.claims(plain))


def test_the_action_names_domain_administrator_and_roles() -> None:
    action = IDENTITY.action(KeystoneServiceSpec.model_validate(SPEC), NAMESPACE, False)
    assert action.spec["trustee"] == SPEC["trustee"]
    assert action.spec["additionalRoles"] == ["heat_stack_user"]


def test_a_domain_belongs_to_one_contract() -> None:
    """Keystone ignores case when it compares names."""
    first = contract()
    first["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    other = contract("other", serviceName="b", serviceType="b", username="b", secretName="b")
    other["spec"]["trustee"] = {"domain": "HEAT", "username": "another"}
    other["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    assert claims(IDENTITY, first) & claims(IDENTITY, other) == {"domain heat of Keystone keystone"}
    plan = decide(Observed(IDENTITY, other, None, None, others=(first,)))
    assert not plan.actions
    assert condition(plan).reason == "BlockedTaken"


@pytest.mark.parametrize("trustee", ["heat", [], 7, {"domain": ["a"]}, None])
def test_claims_of_any_raw_spec_can_be_read(trustee: object) -> None:
    assert claims(IDENTITY, contract(trustee=trustee))


@pytest.mark.parametrize(
    "trustee",
    [
        {"domain": "Default", "username": "a"},
        {"domain": "default", "username": "a"},
        {"domain": "a", "username": "Admin"},
        {"domain": "a\nb", "username": "a"},
        {"domain": "a", "username": "a]\n[DEFAULT"},
        {"domain": "a{password}", "username": "a"},
        {"domain": "", "username": "a"},
        {"domain": "a" * 33, "username": "a"},
        {"domain": "a"},
        {"domain": "a", "username": "a", "password": "a"},
    ],
)
def test_other_names_are_rejected(trustee: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        KeystoneServiceSpec.model_validate({**SPEC, "trustee": trustee})


def test_the_api_server_rejects_reserved_and_changed_names() -> None:
    schema = crd(KeystoneService)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    trustee = schema["properties"]["spec"]["properties"]["trustee"]["properties"]
    for name, reserved in (("domain", "default"), ("username", "admin")):
        rules = [rule["rule"] for rule in trustee[name]["x-kubernetes-validations"]]
        assert rules[0] == "self == oldSelf"
        assert rules[1] == f"!(self.lowerAscii() in ['{reserved}'])"
    assert TRUSTEE_STAYS.cel in [rule["rule"] for rule in schema["x-kubernetes-validations"]]


def test_a_trustee_may_be_added_but_not_removed() -> None:
    plain = {"spec": {name: value for name, value in SPEC.items() if name != "trustee"}}
    assert TRUSTEE_STAYS.refused({"spec": SPEC}, plain)
    assert not TRUSTEE_STAYS.refused(plain, {"spec": SPEC})
    assert not TRUSTEE_STAYS.refused({"spec": SPEC}, {"spec": SPEC})
