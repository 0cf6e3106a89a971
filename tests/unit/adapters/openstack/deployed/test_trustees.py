"""Requests for a service's own domain in Keystone, its administrator and roles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.adapters.openstack.deployed import keystone
from stackwright.core.errors import TerminalError
from tests.unit.adapters.openstack.deployed.test_keystone import SPEC, Identity

TRUSTEE = {"domain": "heat", "username": "heat_domain_admin"}
WANTED = {**SPEC, "additionalRoles": ["heat_stack_owner", "heat_stack_user"], "trustee": TRUSTEE}
OWN = {"password": "pw", "trustee_password": "its own"}
DOMAIN_ADMIN = ("heat", "heat_domain_admin", "admin")


class Domains(Identity):
    """The same with domains, in which users have roles, too."""

    def __init__(self) -> None:
        super().__init__()
        self.kept["domain"] = []
        self.administers: set[tuple[str, str, str]] = set()
        self.inherited_only = False
        self.reads: list[str] = []

    def _list(self, what: str, query: dict[str, Any]) -> Any:
        self.reads.append(what)
        return super()._list(what, query)

    def role_assignments(self, user_id: str, scope_project_id: str = "", scope_domain_id: str = "") -> Any:
        if scope_project_id:
            yield from super().role_assignments(user_id, scope_project_id)
            return
        for domain, user, role in self.administers:
            ids = [next(o.id for o in self.kept[what] if o.name == name) for what, name in (("domain", domain),)]
            users = [o.id for o in self.kept["user"] if o.name == user]
            if ids == [scope_domain_id] and user_id in users:
                below = {"OS-INHERIT:inherited_to": "projects"} if self.inherited_only else {}
                yield SimpleNamespace(
                    role={"id": next(o.id for o in self.kept["role"] if o.name == role)},
                    scope={"domain": {"id": scope_domain_id}, **below},
                )

    def assign_domain_role_to_user(self, domain: Any, user: Any, role: Any) -> None:
        self.writes.append("assign_domain_role")
        self.administers.add((domain.name, user.name, role.name))


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Domains:
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: True)
    return Domains()


def ensure(identity: Domains, spec: dict[str, Any] = WANTED) -> list[str]:
    identity.writes.clear()
    keystone._ensure_user(identity, spec, "http://k/v3", OWN)
    keystone._ensure_catalog(identity, spec)
    return list(identity.writes)


def missing(identity: Domains) -> str:
    return keystone._missing(identity, WANTED, "http://k/v3", OWN)


def test_all_parts_are_created_once(identity: Domains) -> None:
    ensure(identity)
    assert {role.name for role in identity.kept["role"]} >= {"heat_stack_owner", "heat_stack_user"}
    assert [(d.name, d.is_enabled) for d in identity.kept["domain"]] == [("heat", True)]
    user = next(each for each in identity.kept["user"] if each.name == "heat_domain_admin")
    assert (user.domain_id, user.password) == (identity.kept["domain"][0].id, "its own")
    assert user.options == {"ignore_lockout_failure_attempts": True}
    assert identity.administers == {DOMAIN_ADMIN}
    assert not any("heat_domain_admin" in each for each in identity.assigned), "no role outside of its domain"
    assert ensure(identity) == []
    assert missing(identity) == ""


def test_what_is_lost_is_reported_and_restored(identity: Domains) -> None:
    ensure(identity)
    identity.administers.clear()
    assert missing(identity) == "role admin of user heat_domain_admin in domain heat"
    assert ensure(identity) == ["assign_domain_role"]
    identity.inherited_only = True  # a role in projects of the domain is none in the domain
    assert missing(identity) == "role admin of user heat_domain_admin in domain heat"
    identity.inherited_only = False
    identity.kept["user"] = [each for each in identity.kept["user"] if each.name != "heat_domain_admin"]
    assert missing(identity) == "user heat_domain_admin of domain heat"
    assert ensure(identity)[0] == "create_user"
    identity.kept["domain"][0].is_enabled = False
    assert missing(identity) == "domain heat"
    with pytest.raises(TerminalError, match="is disabled; enable it"):
        ensure(identity)
    assert identity.writes == []
    identity.kept["domain"][0].is_enabled = True
    identity.kept["role"] = [each for each in identity.kept["role"] if each.name != "heat_stack_user"]
    assert missing(identity) == "role heat_stack_user"
    assert ensure(identity) == ["create_role"]
    identity.kept["domain"].clear()
    identity.administers.clear()
    assert missing(identity) == "domain heat"


def test_a_wrong_password_of_the_administrator_counts_as_missing(
    identity: Domains, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure(identity)
    trustee = next(each for each in identity.kept["user"] if each.name == "heat_domain_admin")
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: user != trustee.id)
    assert missing(identity) == "user heat_domain_admin of domain heat"
    assert ensure(identity) == ["update_user"]


def test_the_administrator_has_another_password_than_the_service(
    identity: Domains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who has one of them can use the other's account."""
    ensure(identity)
    found = {each.name: (each.id, each.password) for each in identity.kept["user"]}
    assert found[SPEC["username"]][1] == "pw" and found["heat_domain_admin"][1] == "its own"
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(keystone, "_password_works", lambda url, user, password: not asked.append((user, password)))
    assert missing(identity) == "" and asked == list(found.values())


def test_a_changed_spec_has_lost_no_trustee(identity: Domains) -> None:
    """Without the password, only names of the earlier spec count, which may have had no trustee."""
    ensure(identity, SPEC)
    assert keystone._missing(identity, WANTED, "http://k/v3", None) == ""


def test_a_domain_of_others_is_not_taken_over(identity: Domains) -> None:
    """Its managers could become administrators of the cloud."""
    identity.kept["domain"].append(SimpleNamespace(id="d0", name="heat", description="Customer", is_enabled=False))
    user = SimpleNamespace(id="u0", name="heat_domain_admin", domain_id="d0", is_enabled=True)
    identity.kept["user"].append(user)
    with pytest.raises(TerminalError, match="Domain heat exists and was not created for this service"):
        ensure(identity)
    assert "update_user" not in identity.writes and identity.administers == set()
    keystone._remove(identity, WANTED)
    assert identity.kept["user"] == [user]


def test_a_user_of_the_same_name_in_another_domain_stays(identity: Domains) -> None:
    other = SimpleNamespace(id="u0", name="heat_domain_admin", domain_id="default", is_enabled=True)
    identity.kept["user"].append(other)
    ensure(identity)
    keystone._remove(identity, WANTED)
    assert identity.kept["user"] == [other]


def test_removal_keeps_domain_and_roles(identity: Domains) -> None:
    ensure(identity)
    for _ in range(2):
        keystone._remove(identity, WANTED)
    assert identity.kept["user"] == []
    assert [each.name for each in identity.kept["domain"]] == ["heat"]
    assert {"heat_stack_owner", "heat_stack_user"} <= {each.name for each in identity.kept["role"]}


@pytest.mark.parametrize("short", ["domain", "user", "service"])
def test_one_short_list_leaves_no_user_or_service_behind(identity: Domains, short: str) -> None:
    """A replica of Keystone's database that is behind may answer one list."""
    ensure(identity)
    lists, left = identity._list, {short: 1}

    def behind(what: str, query: dict[str, Any]) -> Any:
        left[what] = left.get(what, 0) - 1
        return iter([]) if left[what] >= 0 and query.get("type") != "identity" else lists(what, query)

    identity._list = behind  # type: ignore[method-assign]
    keystone._remove(identity, WANTED)
    assert identity.kept["user"] == []
    assert [each.name for each in identity.kept["service"]] == ["keystone"]


def test_other_services_request_nothing_more(identity: Domains) -> None:
    """Each request of a check is repeated for each service every few minutes."""
    ensure(identity, SPEC)
    identity.reads.clear()
    assert keystone._missing(identity, SPEC, "http://k/v3", OWN) == ""
    assert "domain" not in identity.reads and identity.reads.count("role") == 1
