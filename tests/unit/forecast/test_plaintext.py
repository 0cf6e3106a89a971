"""Secrets as plain text in manifests are named by field, with the remedy, and never by value."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.forecast.plaintext import plaintext_secrets
from stackwright.services.keystone.kind import Keystone
from support.paths import ROOT

VALUE = "hunter2-hunter2"


def told(spec: Any, kind: Kind = OpenStackDeployment.KIND) -> list[str]:
    found = plaintext_secrets([(kind, {"spec": spec})])
    assert VALUE not in str(found)
    assert all(entry.verb == "plaintext" and "value_from.secret_key_ref" in entry.why for entry in found)
    return [entry.what for entry in found]


def option(section: str, name: str, value: Any) -> dict[str, Any]:
    values = {"conf": {"keystone": {section: {name: value}}}}
    return {"services": {"identity": {"keystone": {"values": values}}}}


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("ldap", "password", VALUE),
        ("ldap", "password", 12345678),
        ("DEFAULT", "metadata_proxy_shared_secret", VALUE),
        ("cache", "memcache_secret_key", VALUE),
        ("oidc", "client_secret", VALUE),
        ("vendor", "api_key", VALUE),
        ("vendor", "san_password", VALUE),
        ("DEFAULT", "transport_url", f"rabbit://nova:{VALUE}@host:5672/"),
        ("vendor", "san_hosts", f"https://admin:{VALUE}@array"),
        ("vendor", "certificate", f"-----BEGIN RSA PRIVATE KEY-----\n{VALUE}"),
    ],
)
def test_a_literal_secret_in_values_is_named(section: str, name: str, value: Any) -> None:
    path = f"spec.services.identity.keystone.values.conf.keystone.{section}.{name}"
    assert told(option(section, name, value)) == [path]


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("ldap", "password", {"value_from": {"secret_key_ref": {"name": "directory", "key": "password"}}}),
        ("ldap", "password", ""),
        ("ldap", "password", None),
        ("token", "expiration", 3600),
        ("token", "provider", "fernet"),
        ("identity", "password_hash_rounds", 12),
        ("security_compliance", "lockout_password", True),
        ("vendor", "san_private_key", "/etc/vendor/key"),
        ("database", "connection", "mysql+pymysql://host/keystone"),
    ],
)
def test_references_files_and_other_options_are_not(section: str, name: str, value: Any) -> None:
    assert told(option(section, name, value)) == []


def test_names_of_secrets_are_not() -> None:
    values = {"secrets": {"oslo_db": {"password": "a-secret"}}, "network": {"ingress": {"tls_secret": "b-secret"}}}
    assert told({"services": {"identity": {"keystone": {"values": values}}}}) == []


def test_every_level_and_kind_with_values_is_searched() -> None:
    values = {"conf": {"vendor": {"password": VALUE}}}
    assert told({"common": {"charts": {"values": values}}, "nodes": {"a::b": {"services": values}}}) == [
        "spec.common.charts.values.conf.vendor.password",
        "spec.nodes.a::b.services.conf.vendor.password",
    ]
    levels = [{"source": "x", "values": values}]
    assert told({"overrides": levels}, Keystone.KIND) == ["spec.overrides[0].values.conf.vendor.password"]
    releases = [{"name": "x", "values": {"env": [{"name": "DB_PASSWORD", "value": VALUE}]}}]
    assert told({"releases": releases}, HelmBundle.KIND) == ["spec.releases[0].values.env[0].value"]
    assert plaintext_secrets([(SECRET, {"spec": values})]) == []


def test_options_in_ini_format_are_named_with_their_section() -> None:
    text = f"# password = a\n[vendor]\nsan_login = me\nsan_password = {VALUE}\n[other]\npassword =\n"
    spec = {"cinder": {"template": {"customServiceConfig": text}}}
    path = "spec.cinder.template.customServiceConfig [vendor] san_password"
    assert told(spec, OpenStackControlPlane.KIND) == [path]
    odd = {f"admin:{VALUE}=x": {"password": "x"}, "a": {"customServiceConfig": f"[{VALUE} x]\npassword = b"}}
    assert told(odd) == ["spec.***.password", "spec.a.customServiceConfig [***] password"]
    assert told({"a": {"customServiceConfig": f"password={VALUE}"}}) == ["spec.a.customServiceConfig password"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_have_none(path: Any) -> None:
    kinds = {resource.KIND.kind: resource.KIND for resource in (OpenStackDeployment, OpenStackControlPlane)}
    found = [each for each in yaml.safe_load_all(path.read_text()) if each and each.get("kind") in kinds]
    assert plaintext_secrets((kinds[each["kind"]], each) for each in found) == []
