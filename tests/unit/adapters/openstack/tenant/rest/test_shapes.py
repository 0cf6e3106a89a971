"""Answers with HTTP 200 that no OpenStack gives are the cloud's failure; a fault of our own stays one."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant.rest.attach import delete_stale_attachments
from stackwright.adapters.openstack.tenant.rest.reads import fetch, single
from stackwright.adapters.openstack.tenant.rest.references import find
from stackwright.adapters.openstack.tenant.rest.requests import run
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, resource_of
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport import project_connection
from stackwright.adapters.openstack.transport.login import Login
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection
from stackwright.adapters.openstack.transport.send import problem_of
from stackwright.adapters.openstack.transport.shapes import answering, resources_in
from stackwright.adapters.threads import LibraryFailed
from stackwright.api.fields.mark import METADATA_KEY
from stackwright.controllers.infra.drift import corrections
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, Progress
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import query
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudRef
from support.openstack import owned_types

pytestmark = pytest.mark.filterwarnings("ignore:Support for InfluxDB")
UID = "5b6c1d0e-0000-4000-8000-000000000001"
HIDDEN = "INTERNAL-BODY"


def answers(body: bytes, status: int = 200) -> Mock:
    return Mock(status_code=status, headers={}, content=body, text=body.decode(), json=lambda: json.loads(body))


def cloud(body: bytes, status: int = 200, project: Any = "p") -> Mock:
    """Every service gives this answer to every request."""
    service = Mock()
    service.request = lambda *_, **__: answers(body, status)
    return Mock(compute=service, network=service, block_storage=service, image=service, current_project_id=project)


async def told(monkeypatch: pytest.MonkeyPatch, connection: Any, ask: Any) -> str:
    monkeypatch.setattr(project_connection, "connection", lambda *_: connection)
    project = ProjectConnection(Login("d", {"auth": {"auth_url": "https://keystone/v3"}}, ""))
    try:
        with pytest.raises(TransientCloudError) as raised:
            await project.do("network", ask)
    finally:
        project.close()
    assert raised.value.reason == "Unreachable"
    assert HIDDEN not in str(raised.value)
    assert str(raised.value).startswith("https://keystone/v3: not a response of OpenStack (")
    return str(raised.value).rpartition("(")[2].rstrip(")")


def call(do: Any, what: Any, **more: Any) -> CloudCall:
    return CloudCall(CloudRef(("ns", "s"), "c"), do, (what, ""), UID, **more)


LISTED = ("ports", "networks", "attachments")
ODD: tuple[Any, ...] = (
    None, HIDDEN, [], {}, {"id": None}, {"id": [HIDDEN]}, {"id": 5}, {"id": ""}, {"id": "x" * 256},
)  # fmt: skip
REQUESTS = {
    "list of ports": lambda made: fetch(made, "port"),
    "question": lambda made: find(made, query("network")),
    "one": lambda made: single(made, "port", "1"),
    "create": lambda made: run(made, call("create", "port"), None),
    "update": lambda made: run(made, call("update", "port", id="1", body={"name": "n"}), None),
    "attach": lambda made: run(made, call("update", "server", id="1", body={"add_port": "2"}), None),
    "delete": lambda made: run(made, call("delete", "router", id="1"), None),
    "attachments": lambda made: delete_stale_attachments(made, "1"),
}


@pytest.mark.parametrize("ask", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"5", b"{}", HIDDEN.encode(), b"[" * 200_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"ports": [{"id": ' + b"9" * 5000 + b"}]}",
        *(json.dumps({**{key: [found] for key in LISTED}, "port": found, "server": found}).encode() for found in ODD),
    ],
    ids=lambda body: f"{body[:40]!r}",
)  # fmt: skip
async def test_an_invalid_response_is_an_error_of_the_cloud(
    monkeypatch: pytest.MonkeyPatch, ask: Any, body: bytes
) -> None:
    await told(monkeypatch, cloud(body), ask)


@pytest.mark.parametrize(
    ("what", "field", "value"),
    [
        *((what, field, 5) for what in owned_types() for field in ("name", "status", "description")),
        ("server", "tags", [1]),
        ("server", "tags", HIDDEN),
        ("server", "metadata", {HIDDEN: 1}),
        ("server", "fault", HIDDEN),
        ("server", "addresses", {HIDDEN: [{"addr": 1}]}),
        ("server", "addresses", {HIDDEN: [{"addr": "10.0.0.1", "OS-EXT-IPS:type": HIDDEN}]}),
        ("server", "flavor", HIDDEN),
        ("server", "os-extended-volumes:volumes_attached", [{}]),
        ("server", "OS-EXT-STS:task_state", []),
        ("port", "fixed_ips", [{"ip_address": 1}]),
        ("port", "security_groups", [{}]),
        ("port", "allowed_address_pairs", [{}]),
        ("port", "device_id", {}),
        ("router", "external_gateway_info", [HIDDEN]),
        ("subnet", "dns_nameservers", [{}]),
        ("subnet", "network_id", {}),
        ("floating-ip", "port_id", []),
        ("floating-ip", "floating_ip_address", 1),
        ("security-group-rule", "security_group_id", {}),
        ("volume", "metadata", {"stackwright.dev/mark": 1}),
        *(("server", field, "x" * 4097) for field in ("name", "status", "OS-EXT-STS:task_state")),
        ("server", "fault", {"message": " " * 4097}),
        ("server", "addresses", {HIDDEN: [{"addr": "1" * 256}]}),
        ("server", "status", "\ud800"),
        ("volume", "size", "10"),
        ("subnet", "ip_version", "4"),
    ],
)
async def test_a_field_of_another_type_is_named(
    monkeypatch: pytest.MonkeyPatch, what: str, field: str, value: Any
) -> None:
    key, one = REST[what].keys, REST[what].key
    made = cloud(json.dumps({key: [{"id": "1", field: value}], one: {"id": "1", field: value}}).encode())
    assert (await told(monkeypatch, made, lambda it: fetch(it, what))).startswith(f"wrong {key}.{field}")
    assert (await told(monkeypatch, made, lambda it: single(it, what, "1"))).startswith(f"wrong {one}.{field}")


SERVER: dict[str, Any] = {
    "id": "1", "name": "web", "status": "ERROR", "description": None, "tags": ["a"], "metadata": {"k": "v"},
    "OS-EXT-STS:task_state": None, "fault": {"code": 500, "message": "No valid host", "created": "2026-01-01"},
    "addresses": {"n": [
        {"version": 4, "addr": "10.0.0.5", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:0:0:1"},
    ]},
    "flavor": {"original_name": "m1.small", "vcpus": 1, "extra_specs": {}}, "image": "",
    "security_groups": [{"name": "default"}], "os-extended-volumes:volumes_attached": [{"id": "v"}],
}  # fmt: skip
PORT: dict[str, Any] = {
    "id": "1", "name": "", "status": "DOWN", "description": "", "network_id": "n", "device_id": "", "device_owner": "",
    "mac_address": "fa:16:3e:0:0:1", "fixed_ips": [{"subnet_id": "s", "ip_address": "10.0.0.5"}], "tags": [],
    "security_groups": ["g"], "allowed_address_pairs": [{"ip_address": "10.0.0.9", "mac_address": "fa:16:3e:0:0:1"}],
    "binding:profile": {}, "qos_policy_id": None, "admin_state_up": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("what", "raw"),
    [
        ("server", SERVER),
        ("port", PORT),
        ("volume", {"id": "1", "name": None, "status": "in-use", "size": 1, "metadata": {}, "description": None}),
        ("router", {"id": "1", "external_gateway_info": None, "tags": []}),
        ("router", {"id": "1", "external_gateway_info": {"network_id": "n", "external_fixed_ips": [
            {"subnet_id": "s", "ip_address": "192.0.2.1"}], "enable_snat": True}}),
        ("subnet", {"id": "1", "cidr": "10.0.0.0/24", "gateway_ip": None, "ip_version": 4, "dns_nameservers": []}),
        ("floating-ip", {"id": "1", "floating_ip_address": "192.0.2.1", "port_id": None, "fixed_ip_address": None}),
        ("security-group-rule", {"id": "1", "security_group_id": "g", "protocol": None, "description": None}),
    ],
)  # fmt: skip
def test_responses_of_openstack_are_accepted(what: str, raw: dict[str, Any]) -> None:
    made = cloud(json.dumps({REST[what].keys: [raw], REST[what].key: raw}).encode())
    assert fetch(made, what) == [single(made, what, "1")]


@pytest.mark.parametrize("what", [what for what, facts in TYPES.items() if facts.compared])
@pytest.mark.parametrize("value", [None, [], {}, "", 0, False], ids=repr)
def test_every_accepted_value_can_be_compared_with_the_created_resource(what: str, value: Any) -> None:
    wanted = {
        "tags": ["a"], "metadata": {"k": "v"}, "security_groups": ["g"], "dns_nameservers": ["192.0.2.1"],
        "external_gateway_info": {"network_id": "n"}, "allowed_address_pairs": [{"ip_address": "192.0.2.2"}],
    }  # fmt: skip
    owner, resource_key = Owner(CloudRef(("ns", "s"), "c"), UID), (what, "")
    for field in TYPES[what].compared:
        with suppress(LibraryFailed):
            raw = resources_in({REST[what].keys: [{"id": "1", field: value}]}, REST[what].keys, REST[what].shape)[0]
            part = DesiredResource(resource_key, lambda ids, field=field: {field: wanted.get(field, "w")})  # type: ignore[misc, arg-type]
            list(corrections(owner, [part], Progress({}, existing={resource_key: resource_of(what, raw)})))  # type: ignore[dict-item]


@pytest.mark.parametrize("text", ["", "x", "stackwright", f"stackwright:{UID}", "stackwright:::"])
@pytest.mark.parametrize("what", ["server", "port", "volume", "network"])
def test_a_malformed_mark_of_another_client_is_ignored(what: str, text: str) -> None:
    raw = {"id": "1", "tags": [text], "description": text, "metadata": {METADATA_KEY: text}}
    snapshot = Snapshot()
    snapshot.replace(what, fetch(cloud(json.dumps({REST[what].keys: [raw]}).encode()), what), 1.0)
    assert snapshot.things[what, "1"].mark == ""


MANY = 100_000


@pytest.mark.parametrize(
    ("found", "field"),
    [
        ([5] * MANY, "servers"),
        ([{}] * MANY, "servers.id"),
        ([{"id": "1"}] * MANY + [5], "servers"),
        ([{"id": "1", "tags": [1] * MANY}], "servers.tags"),
        ([{"id": "1", "tags": ["1"] * MANY}], "servers.tags"),
        ([{"id": "1", "metadata": dict.fromkeys(map(str, range(MANY)), 1)}], "servers.metadata"),
        ([{"id": "1", "addresses": {"n": [{}] * MANY}}], "servers.addresses.addr"),
        ([{"id": "1", "addresses": {"n": [{"addr": "1"}] * MANY}}], "servers.addresses"),
        (
            [{"id": "1", "addresses": {key: [{"addr": "1"}] for key in map(str, range(MANY))}}],
            "servers.addresses",
        ),
        ([{"id": "1", "addresses": {key: [{"addr": "1"}] * 101 for key in "abcdefghij"}}], "servers.addresses"),
    ],
)
def test_checking_a_response_uses_no_memory(found: Any, field: str) -> None:
    """With errors for all values, a response of 3 MiB used 2 GiB, more than the operator has."""
    tracemalloc.start()
    try:
        with pytest.raises(LibraryFailed, match=rf"wrong {field}\)"):
            resources_in({"servers": found}, "servers")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_properties_of_images_have_any_name() -> None:
    raw: Any = {
        "id": "1",
        "name": None,
        "status": "active",
        "tags": [],
        "flavor": "x",
        "metadata": "y",
        "fixed_ips": "z",
    }
    assert find(cloud(json.dumps({"images": [raw]}).encode()), query("image"))[0].id == "1"


@pytest.mark.parametrize("project", [["x"], {}, 5, b"x", "x" * 256, "\ud800"], ids=ascii)
async def test_a_project_without_a_textual_id_is_the_clouds_failure(
    monkeypatch: pytest.MonkeyPatch, project: Any
) -> None:
    for ask in (lambda made: fetch(made, "port"), lambda made: None):
        assert await told(monkeypatch, cloud(b'{"ports": []}', project=project), ask) == "wrong project.id"


@pytest.mark.parametrize("error", [KeyError(HIDDEN), TypeError(HIDDEN), RecursionError(HIDDEN), AttributeError(HIDDEN)])
async def test_a_library_error_about_a_catalog_is_an_error_of_the_cloud(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class Odd:
        current_project_id, close = "p", Mock()

        @property
        def network(self) -> Any:
            raise error

    assert await told(monkeypatch, Odd(), lambda it: fetch(it, "port")) == type(error).__name__


async def test_a_broken_connection_is_not_reported_as_an_invalid_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = cloud(b"")
    broken.network.request = Mock(side_effect=ConnectionResetError(104, "Connection reset by peer"))
    monkeypatch.setattr(project_connection, "connection", lambda *_: broken)
    project = ProjectConnection(Login("d", {"auth": {"auth_url": "https://keystone/v3"}}, ""))
    with pytest.raises(TransientCloudError, match="Connection reset by peer"):
        await project.do("network", lambda made: fetch(made, "port"))
    project.close()


def test_an_error_that_is_too_deep_to_parse_is_reported_by_its_status() -> None:
    assert str(problem_of(answers(b"[" * 200_000, 409))) == "HTTP 409"


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), AttributeError("x")])
async def test_an_internal_error_remains_one(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def wrong(raw: Any) -> Any:
        raise error

    monkeypatch.setattr(project_connection, "connection", lambda *_: cloud(b'{"ports": [{"id": "1"}]}'))
    monkeypatch.setitem(REST, "port", replace(REST["port"], facts=wrong))
    project = ProjectConnection(Login("d", {"auth": {}}, ""))
    with pytest.raises(type(error)):
        await project.do("network", lambda made: fetch(made, "port"))
    project.close()


@pytest.mark.parametrize("error", [LibraryFailed("known"), TransientError("known"), TerminalError("known")])
def test_an_error_with_a_known_cause_keeps_it(error: Exception) -> None:
    with pytest.raises(type(error), match=r"^known$"), answering():
        raise error


def test_another_error_is_no_response_of_openstack() -> None:
    with pytest.raises(LibraryFailed, match=r"^not a response of OpenStack \(KeyError\)$"), answering():
        raise KeyError("name")
