"""Requests of KeystoneIdentity to the SDK, with a stand-in for its identity proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.adapters import threads
from stackwright.adapters.openstack.deployed import keystone
from stackwright.adapters.openstack.deployed.keystone import KeystoneIdentity, error_of
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.plan.accounts import EnsureIdentityAccount

SPEC: dict[str, Any] = {
    "serviceName": "glance", "serviceType": "image", "description": "Images", "region": "RegionOne",
    "endpoints": {"internal": "http://i", "public": "http://p", "admin": None}, "username": "glance",
    "roles": ["admin", "service"],
}  # fmt: skip
ACTION = EnsureIdentityAccount(
    admin_secret=("openstack", "keystone-admin"), spec=SPEC, secret=("openstack", "glance-ks")
)
OWN = {"password": "pw"}
CREATED = ("project", "user", "role", "service", "endpoint", "region")


class Identity:
    """Keeps objects by type, notes writes."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {name: [] for name in CREATED}
        self.kept["role"] = [SimpleNamespace(id="r-admin", name="admin")]
        self.kept["service"] = [SimpleNamespace(id="s-identity", name="keystone", type="identity", description="")]
        self.writes: list[str] = []
        self.assigned: set[tuple[str, str, str]] = set()
        self.inherited: set[str] = set()  # ids of projects whose children have an assignment of theirs

    def __getattr__(self, name: str) -> Any:
        verb, _, what = name.partition("_")
        if verb == "create":
            return lambda **fields: self._create(what, fields)
        if verb == "update":
            return lambda obj, **fields: (self.writes.append(name), obj.__dict__.update(fields))
        if verb == "delete":
            return lambda obj: (self.writes.append(name), self.kept[what].remove(obj))
        if verb == "find":
            return lambda key: next((o for o in self.kept[what] if o.id == key), None)
        return lambda **query: self._list(name.removesuffix("s"), query)

    def _create(self, what: str, fields: dict[str, Any]) -> Any:
        self.writes.append(f"create_{what}")
        made = SimpleNamespace(**{"id": f"{what}-{len(self.kept[what])}", **fields})
        self.kept[what].append(made)
        return made

    def _list(self, what: str, query: dict[str, Any]) -> Iterator[Any]:
        return iter([o for o in self.kept[what] if all(getattr(o, k) == v for k, v in query.items())])

    def role_assignments(self, user_id: str, scope_project_id: str) -> Iterator[Any]:
        ids = {(what, o.name): o.id for what in ("project", "user", "role") for o in self.kept[what]}
        for project, user, role in self.assigned:
            if (ids["project", project], ids["user", user]) == (scope_project_id, user_id):
                yield SimpleNamespace(
                    role={"id": ids["role", role]}, scope={"project": {"id": ids["project", project]}}
                )
        if scope_project_id in self.inherited:
            yield SimpleNamespace(role={"id": "r-admin"}, scope={"OS-INHERIT:inherited_to": "projects"})

    def assign_project_role_to_user(self, project: Any, user: Any, role: Any) -> None:
        self.assigned.add((project.name, user.name, role.name))

    def unassign_project_role_from_user(self, project: str, user: str, role: str) -> None:
        self.writes.append("unassign")
        pairs = (("project", project), ("user", user), ("role", role))
        names = [next(o.name for o in self.kept[what] if o.id == id_) for what, id_ in pairs]
        self.assigned.remove((names[0], names[1], names[2]))


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: True)
    return Identity()


def ensure(identity: Identity, **changes: Any) -> list[str]:
    identity.writes.clear()
    spec = {**SPEC, **changes}
    keystone._ensure_user(identity, spec, "http://k/v3", OWN)
    keystone._ensure_catalog(identity, spec)
    return list(identity.writes)


def test_all_parts_are_created_once(identity: Identity) -> None:
    made = ["create_project", "create_user", "create_role", "create_service", "create_region"]
    assert ensure(identity) == [*made, "create_endpoint", "create_endpoint"]
    assert identity.assigned == {("service", "glance", "admin"), ("service", "glance", "service")}
    assert ensure(identity) == []


def test_roles_in_the_project_of_services_follow_the_spec(identity: Identity) -> None:
    """Those in other projects, and those that only the project's children have, are not the spec's."""
    ensure(identity, roles=["admin", "service", "member"])
    identity.kept["project"].append(SimpleNamespace(id="p2", name="other", domain_id="default"))
    identity.kept["user"].append(SimpleNamespace(id="u2", name="nova", domain_id="default"))
    elsewhere = {("other", "glance", "member"), ("service", "nova", "member")}
    identity.assigned |= elsewhere
    identity.inherited.add("project-0")
    assert ensure(identity) == ["unassign"]
    assert identity.assigned == {("service", "glance", "admin"), ("service", "glance", "service"), *elsewhere}
    assert ensure(identity, roles=["service"]) == ["unassign"]
    assert ensure(identity, roles=["service"]) == []


def test_endpoints_follow_the_spec(identity: Identity) -> None:
    ensure(identity)
    assert ensure(identity, endpoints={"internal": "http://i2", "public": "http://p"}) == ["update_endpoint"]
    assert ensure(identity, endpoints={"internal": "http://i2"}) == ["delete_endpoint"]
    assert [e.url for e in identity.kept["endpoint"]] == ["http://i2"]
    ensure(identity, region="Two", endpoints={"internal": "http://two"})
    assert len(identity.kept["endpoint"]) == 2


def test_of_several_endpoints_of_an_interface_one_remains(identity: Identity) -> None:
    """Keystone accepts several; one incomplete list, or an administrator, could have created another."""
    ensure(identity)
    identity._create("endpoint", {**vars(identity.kept["endpoint"][0]), "id": "copy", "url": "http://old"})
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "endpoint internal of service glance"
    assert ensure(identity) == ["delete_endpoint"]
    assert sorted(e.url for e in identity.kept["endpoint"]) == ["http://i", "http://p"]
    identity.kept["endpoint"][0].url = "http://old"
    identity._create("endpoint", {**vars(identity.kept["endpoint"][0]), "id": "copy", "url": "http://i"})
    assert ensure(identity) == ["update_endpoint", "delete_endpoint"]
    identity._create("endpoint", {**vars(identity.kept["endpoint"][0]), "id": "copy"})
    assert ensure(identity, endpoints={}) == ["delete_endpoint"] * 3


@pytest.mark.parametrize(("outcomes", "works"), [([True], True), ([False, True], True), ([False, False], False)])
def test_one_refused_login_does_not_reset_a_password(
    outcomes: list[bool], works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new password ends the tokens of a running service."""
    slept: list[float] = []
    first = outcomes[0]
    monkeypatch.setattr(keystone, "_logs_in", lambda *_: outcomes.pop(0))
    monkeypatch.setattr(keystone.time, "sleep", slept.append)
    assert keystone._password_works("http://k/v3", "u", "pw") is works
    assert not outcomes and slept == ([] if first else [keystone.CONFIRM])


def test_without_the_password_only_names_count(identity: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystone, "_password_works", lambda *_: False)
    assert keystone._missing(identity, SPEC, "http://k/v3", None) == "user glance"
    ensure(identity)
    identity.assigned.clear()
    identity.kept["endpoint"].clear()
    assert keystone._missing(identity, SPEC, "http://k/v3", None) == ""
    identity.kept["service"].pop()
    assert keystone._missing(identity, SPEC, "http://k/v3", None) == "service glance"


def test_a_password_is_set_only_when_the_login_fails(identity: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(identity)
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: False)
    assert ensure(identity) == ["update_user"]


def test_a_disabled_user_is_enabled_again(identity: Identity) -> None:
    ensure(identity)
    (user,) = identity.kept["user"]
    user.is_enabled = False
    assert ensure(identity) == ["update_user"]
    assert user.is_enabled


async def test_after_a_failure_the_login_to_keystone_is_repeated(
    identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new Keystone has another catalog, and rejects all earlier tokens."""
    made: list[Any] = []

    def connect(*_: Any, **__: Any) -> Any:
        made.append(SimpleNamespace(identity=identity))
        return made[-1]

    monkeypatch.setattr(keystone, "connect_as", connect)
    admin = {
        "username": "admin", "password": "pw-x", "auth_url": "http://k/v3", "project_name": "admin",
        "user_domain_name": "Default", "project_domain_name": "Default",
    }  # fmt: skip
    client = KeystoneIdentity()
    for _ in range(2):
        await client.account(ACTION, admin, {"password": "pw"})
    assert len(made) == 1
    monkeypatch.setattr(keystone, "_ensure_catalog", Mock(side_effect=ConnectionResetError(104, "reset")))
    with pytest.raises(TransientError):
        await client.account(ACTION, admin, {"password": "pw"})
    monkeypatch.setattr(keystone, "_ensure_catalog", lambda *_: None)
    await client.account(ACTION, admin, {"password": "pw"})
    assert len(made) == 2


def test_missing_parts_are_found_by_a_login_and_queries(identity: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "user glance"
    ensure(identity)
    identity.writes.clear()
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == ""
    for endpoint, lost in ((identity.kept["endpoint"].pop(), "public"), (identity.kept["endpoint"][0], "internal")):
        endpoint.url = "http://elsewhere"
        told = keystone._missing(identity, SPEC, "http://k/v3", OWN)
        assert told.startswith("endpoint ") and told.endswith(" of service glance") and lost in told
    assert ensure(identity) == ["update_endpoint", "create_endpoint"]
    identity.assigned.discard(("service", "glance", "service"))
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "role service of user glance"
    identity.assigned.clear()
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "role admin, service of user glance"
    ensure(identity)
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == ""
    elsewhere = {**SPEC, "region": "Two"}
    assert keystone._missing(identity, elsewhere, "http://k/v3", OWN) == "endpoint internal, public of service glance"
    identity.kept["service"].pop()
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "service glance"
    identity.kept["project"].clear()
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "project service"
    identity.writes.clear()
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: False)
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == "user glance"
    assert identity.writes == []


def test_a_list_without_keystones_own_service_proves_nothing(identity: Identity) -> None:
    """Else a second service would be created, or one left in the catalog."""
    ensure(identity)
    identity.writes.clear()
    services, identity.kept["service"] = identity.kept["service"], []
    for call in (
        lambda: keystone._ensure_catalog(identity, SPEC),
        lambda: keystone._remove(identity, SPEC),
        lambda: keystone._missing(identity, SPEC, "http://k/v3", None),
    ):
        with pytest.raises(TransientError, match="no service of the type identity"):
            call()
    identity.kept["service"] = services
    assert identity.writes == [] and ensure(identity) == []


def test_removal(identity: Identity) -> None:
    ensure(identity)
    keystone._remove(identity, SPEC)
    keystone._remove(identity, SPEC)
    assert identity.kept["user"] == [] and [each.name for each in identity.kept["service"]] == ["keystone"]
    assert identity.kept["project"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, TerminalError),
        (400, TerminalError),
        (403, TerminalError),
        (404, TransientError),
        (409, TransientError),
        (503, TransientError),
        (0, TransientError),
    ],
)
def test_errors(status: int, kind: type[Exception]) -> None:
    error = Exception("why")
    error.http_status = status  # type: ignore[attr-defined]
    assert type(error_of(ACTION, "http://k", error)) is kind


def test_concurrent_creation_of_the_same_resource_is_no_outage() -> None:
    """As the first two services do, with the project they share."""
    error = Exception("two projects with the same name")
    error.http_status = 409  # type: ignore[attr-defined]
    told = str(error_of(ACTION, "http://k", error))
    assert told.startswith("Keystone at http://k: another client created it at the same time")
    assert "is unavailable" not in told


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
async def test_a_closed_port_is_not_yet_and_a_bare_secret_is_refused() -> None:
    admin = {
        "username": "admin", "password": "pw-x", "auth_url": "http://127.0.0.1:1/v3", "project_name": "admin",
        "user_domain_name": "Default", "project_domain_name": "Default",
    }  # fmt: skip
    with pytest.raises(TransientError) as raised:
        await KeystoneIdentity().account(ACTION, admin, {"password": "y"})
    assert "pw-x" not in str(raised.value)
    with pytest.raises(TerminalError, match="keystone-admin lacks password"):
        await KeystoneIdentity().account(ACTION, {**admin, "password": ""}, {"password": "y"})


def test_wrong_passwords_cannot_lock_a_service_out(identity: Identity) -> None:
    ensure(identity)
    (user,) = identity.kept["user"]
    assert user.options == {"ignore_lockout_failure_attempts": True}


class SlowKeystone:
    """Each of its responses arrives in time, and each page of roles names a next one, up to a thousand.

    It is the clock, too, by which each response takes ten seconds.
    """

    def __init__(self) -> None:
        self.asked = asked = []  # type: list[str]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                found: dict[str, Any] = {each: [] for each in ("services", "endpoints", "role_assignments")}
                for each in ("projects", "users", "roles"):
                    found[each] = [{"id": f"{each}{len(asked)}", "name": "other", "enabled": True}]
                if len(asked) < 1000:
                    found["roles_links"] = [{"rel": "next", "href": f"{self.url()}/v3/roles?marker={len(asked)}"}]
                self.answer(200, found)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                token = {"expires_at": "2099-01-01T00:00:00Z", "catalog": [], "methods": ["password"], "user": {}}
                self.answer(201, {"token": token}, **{"X-Subject-Token": "t"})

            do_PATCH = do_PUT = do_POST

            def url(self) -> str:
                return f"http://127.0.0.1:{self.server.server_address[1]}"

            def answer(self, status: int, body: object, **headers: str) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Type": "application/json"}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def monotonic(self) -> float:
        return len(self.asked) * 10.0

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.filterwarnings("ignore")  # of the SDK, about itself
async def test_endless_lists_of_keystone_are_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowKeystone()
    monkeypatch.setattr(threads, "time", slow)
    admin = {
        "username": "admin", "password": "pw-x", "auth_url": f"http://127.0.0.1:{slow.server.server_port}/v3",
        "project_name": "admin", "user_domain_name": "Default", "project_domain_name": "Default",
    }  # fmt: skip
    try:
        for _ in range(2):
            slow.asked.clear()
            with pytest.raises(TransientError):
                await KeystoneIdentity().missing(ACTION, admin, {"password": "pw"})
            assert len(slow.asked) * 10 == CALL_SECONDS
            assert slow.asked[-1].startswith("/v3/roles?marker=")
    finally:
        slow.close()
