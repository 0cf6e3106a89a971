"""Values of Secrets in configuration: one line each, quoted for their reader; reported by key, never repeated."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml
from hypothesis import example
from hypothesis import given as for_all
from hypothesis import strategies as st
from pydantic import ValidationError

from stackwright.api.fields.lines import OPTION
from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.api.services.contracts import KeystoneServiceSpec
from stackwright.api.services.kinds import ServiceSpec
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.core.errors import TerminalError
from stackwright.core.objects import secret_data
from stackwright.core.secrets.cephkeys import access
from stackwright.core.secrets.filling import fill
from stackwright.core.secrets.writes import CopySecret, EnsureSecret, SecretOwner
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.services.context import Context
from stackwright.services.keystone import SERVICE
from stackwright.services.keystone.features import KeystoneSettings
from stackwright.services.keystone.values import ADMIN_SECRET
from support.ports import memory_ports

HOSTILE = (
    "a\n[DEFAULT]\ntransport_url = evil",
    "evil\r",
    "evil\n\n",
    "a\x0bevil",
    "a\x00evil",
    "a\x85evil",
    "a\u2028evil",
)
KEY = ("n", "x")
CEPH = {"mon_endpoints": b"192.0.2.1:6789", "client": b"client.a;\xff"}


@pytest.fixture
def ports() -> Any:
    clock = FrozenClock(1000.0)
    return memory_ports(MemoryCluster(clock=clock), clock)


@pytest.fixture
def owner(ports: Any) -> Any:
    return ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "owner"}})


def given(ports: Any, value: str | bytes) -> None:
    raw = value.encode() if isinstance(value, str) else value
    data = {"k": base64.b64encode(raw).decode(), "other": base64.b64encode(b"\xff\xfe").decode()}
    ports.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "mine"}, "data": data})


def made(ports: Any) -> dict[str, str]:
    return secret_data(ports.cluster.peek(SECRET, KEY))


def copy(owner: Any) -> CopySecret:
    return CopySecret(KEY, owner, "x.conf", {"ldap": {"password": ("mine", "k")}})


def chosen(owner: Any) -> EnsureSecret:
    return EnsureSecret(KEY, SecretOwner(owner), given={"password": ("mine", "k")})


def test_ceph_hands_out_text_only() -> None:
    given = secret_data({"data": {name: base64.b64encode(text).decode() for name, text in CEPH.items()}})
    with pytest.raises(ValueError, match="field client: must be UTF-8 text"):
        access(given, {"client": "client", "pools": [], "options": {}}, "uuid")


@pytest.mark.parametrize("action", [copy, chosen])
@pytest.mark.parametrize("text", HOSTILE)
async def test_a_value_of_several_lines_is_refused_by_its_key(ports, owner, action, text) -> None:
    given(ports, text)
    with pytest.raises(TerminalError, match="key k of Secret n/mine: must be one line") as told:
        await execute([action(owner)], ports, "m")
    assert "evil" not in str(told.value)
    assert ports.cluster.peek(SECRET, KEY) is None


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
async def test_a_trailing_line_break_is_removed(ports, owner, end) -> None:
    given(ports, "p w\t=" + end)
    await execute([copy(owner)], ports, "m")
    assert made(ports) == {"x.conf": "[ldap]\npassword = p w\t=\n"}
    await execute([chosen(owner)], ports, "m")
    assert made(ports)["password"] == "p w\t="


async def test_a_value_that_is_no_text_is_rejected_by_its_key(ports, owner) -> None:
    given(ports, b"\xff\xfe")
    with pytest.raises(TerminalError, match="key k of Secret n/mine: must be UTF-8 text"):
        await execute([copy(owner)], ports, "m")


@pytest.mark.parametrize("text", HOSTILE)
async def test_an_existing_password_must_be_one_line_where_it_is_not_quoted(ports, owner, text) -> None:
    data = {"password": base64.b64encode(text.encode()).decode()}
    ports.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "x"}, "data": data})
    with pytest.raises(TerminalError, match="field password of Secret n/x: must be one line") as told:
        await execute([EnsureSecret(KEY, SecretOwner(owner), templates={"x.conf": "a = {password}\n"})], ports, "m")
    assert "evil" not in str(told.value)
    await execute([EnsureSecret(KEY, SecretOwner(owner), templates={"x.yaml": "a: {password!j}\n"})], ports, "m")
    assert yaml.safe_load(made(ports)["x.yaml"]) == {"a": text}


@pytest.mark.parametrize("region", ["NO", "1", "a: b", "x # y", '"', "{password}", "R\n  other: {}"])
async def test_clouds_yaml_contains_the_written_values(ports, owner, region) -> None:
    settings = KeystoneSettings.model_validate({"users": {"admin": {"project_name": "yes"}}})
    spec = ServiceSpec().model_copy(update={"region": region})  # even if nothing had refused it before
    context = Context("keystone", "n", spec, {}, settings)
    secret = next(each for each in SERVICE.secrets(context) if each.name == ADMIN_SECRET)
    action = EnsureSecret(KEY, SecretOwner(owner), secret.generated, secret.fixed, secret.templates)
    await execute([action], ports, "m")
    (entry,) = yaml.safe_load(made(ports)["clouds.yaml"])["clouds"].values()
    assert entry["region_name"] == region
    assert entry["auth"] == {
        "auth_url": "http://keystone-api.n.svc.cluster.local:5000/v3",
        "username": "admin",
        "password": made(ports)["password"],
        "project_name": "yes",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }


def identity(sections: list[str], region: str = "RegionOne") -> dict[str, str]:
    """auth.conf of a KeystoneService, with the sections and the region that a user chose."""
    spec = KeystoneServiceSpec.model_validate(
        {
            "serviceName": "x",
            "serviceType": "image",
            "endpoints": {"internal": "http://a", "public": "http://a"},
            "username": "x",
            "secretName": "x",
            "sections": sections,
            "region": region,
        }
    )
    templates = IDENTITY.templates(spec)
    fields = {**IDENTITY.fixed(spec, "n"), "password": "secret", "cache_key": "k"}
    return {name: fill(text, fields) for name, text in templates.items()}


@for_all(st.lists(st.text("ax{}:.![]<>09", min_size=1, max_size=9).map(lambda text: f"s{text}s"), max_size=4))
@example(["x{username:>3000000000}x"])
@example(["x{password}", "x{y}", "x{", "x}x"])
def test_names_of_sections_are_unchanged(sections: list[str]) -> None:
    sections = [name for name in sections if OPTION.matches(name)]
    text = identity(sections)["auth.conf"]
    assert [line[1:-1] for line in text.splitlines() if line.startswith("[")] == sections
    assert len(text) <= 300 * len(sections) + sum(map(len, sections))


def test_a_users_value_that_is_repeated_per_section_has_a_short_limit() -> None:
    with pytest.raises(ValidationError, match="region"):
        identity(["x"], region="r" * 256)
    with pytest.raises(ValidationError, match="sections"):
        identity(["x" * 256])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("cinder", '{"client_name": "client.c\\nevil", "key": "A==", "pools": ["a:volumes:hdd"]}'),
        ("cinder", '{"client_name": "client.c", "key": "A==\\n[evil]\\nx", "pools": ["a:volumes:hdd"]}'),
        ("cinder", "client.c;A==;a\nevil:volumes:hdd"),
        ("mon_endpoints", "192.0.2.1:6789\nevil = x"),
    ],
)
def test_values_from_ceph_must_be_one_line_too(field: str, text: str) -> None:
    spec = {"client": "cinder", "pools": [{"name": "v", "role": "volumes"}], "options": {"rbd": {"p": "pool:volumes"}}}
    handed = {"mon_endpoints": "192.0.2.1:6789\n", "cinder": "client.c;A==\n;a:volumes:hdd", field: text}
    with pytest.raises(ValueError, match=f"field {field}: must be one line") as told:
        access(handed, spec, "")
    assert "evil" not in str(told.value)
