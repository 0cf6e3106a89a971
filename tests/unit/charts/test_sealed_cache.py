"""Entries of services in memcached: other clients can neither read nor create them, nor run code through them."""

import pickle
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.paths import ROOT
from support.pickles import RAN, Evil

BIN = ROOT / "charts"
PREFIX = "sealed1:"


class Memcached:
    """python-memcached's client: values other than bytes are pickled."""

    stored: dict[str, tuple[bool, bytes]]

    def __init__(self, stored: dict[str, tuple[bool, bytes]], unpickler: Any = None) -> None:
        self.stored, self._unpickler = stored, unpickler or pickle.Unpickler

    def set(self, key: str, val: Any, time: int = 0) -> bool:
        self.stored[key] = (False, val) if isinstance(val, bytes) else (True, pickle.dumps(val))
        return True

    add = set

    def get(self, key: str) -> Any:
        pickled, raw = self.stored.get(key, (False, None))
        if not pickled:
            return raw
        try:
            return self._unpickler(__import__("io").BytesIO(raw)).load()
        except Exception:
            return None

    def set_multi(self, mapping: dict[str, Any]) -> None:
        for key, value in mapping.items():
            Memcached.set(self, key, value)

    def get_multi(self, keys: list[str]) -> dict[str, Any]:
        return {key: Memcached.get(self, key) for key in keys if key in self.stored}

    def delete(self, key: str) -> None:
        self.stored.pop(key, None)

    def delete_multi(self, keys: list[str]) -> None:
        for key in keys:
            Memcached.delete(self, key)


@pytest.fixture(autouse=True)
def _nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The class from which Keystone's cache creates its connections."""
    memcache = ModuleType("memcache")
    memcache.Client = type("Client", (Memcached,), {"__init__": Memcached.__init__})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "memcache", memcache)
    package, pool = ModuleType("oslo_cache"), ModuleType("oslo_cache._memcache_pool")
    pool._MemcacheClient = memcache.Client  # type: ignore[attr-defined]
    package._memcache_pool = pool  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "oslo_cache", package)
    monkeypatch.setitem(sys.modules, "oslo_cache._memcache_pool", pool)
    for name in ("sealed", "sealed_cache", "no_pickles"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(BIN / "keystone/bin"))
    sealed_cache = __import__("sealed_cache")

    monkeypatch.setattr(sealed_cache, "KEY", tmp_path / "key")

    def made(secret: str, stored: dict[str, tuple[bool, bytes]]) -> Any:
        pool._MemcacheClient = memcache.Client  # type: ignore[attr-defined]
        sealed_cache.KEY.write_text(secret)
        sealed_cache.install()
        return pool._MemcacheClient(stored)

    return made


def test_only_clients_with_the_key_read_cache_entries(client: Any) -> None:
    stored: dict[str, tuple[bool, bytes]] = {}
    keystone = client("secret", stored)
    keystone.set("a", ("value", 1))
    keystone.set_multi({"b": {"role": "member"}})
    assert client("secret", stored).get("a") == ("value", 1)
    assert client("secret", stored).get_multi(["a", "b"]) == {"a": ("value", 1), "b": {"role": "member"}}
    assert not any(b"member" in raw for _, raw in stored.values())
    assert client("rotated", stored).get("a") is None
    assert client("rotated", stored).get_multi(["a", "b"]) == {}


def test_keystone_ignores_cache_entries_of_others(client: Any) -> None:
    stored: dict[str, tuple[bool, bytes]] = {}
    keystone = client("secret", stored)
    keystone.set("admin", "roles of admin")
    stored[PREFIX + "mine"] = stored[PREFIX + "admin"]
    stored[PREFIX + "pickle"] = (True, pickle.dumps(Evil()))
    stored[PREFIX + "bytes"] = (False, pickle.dumps(Evil()))
    assert [keystone.get(key) for key in ("mine", "pickle", "bytes")] == [None, None, None]
    assert keystone.get_multi(["mine", "pickle", "bytes"]) == {}


def test_values_of_before_the_seal_are_neither_read_nor_replaced(client: Any) -> None:
    """While Keystone is upgraded, pods of both versions share the servers."""
    stored: dict[str, tuple[bool, bytes]] = {}
    before = Memcached(stored)
    before.set("a", {"role": "member"})
    keystone = client("secret", stored)
    assert keystone.get("a") is None
    assert keystone.get_multi(["a"]) == {}
    keystone.set("a", {"role": "admin"})
    keystone.set_multi({"b": 1, "c": 2})
    assert (before.get("a"), before.get("b")) == ({"role": "member"}, None)
    keystone.delete("a")
    keystone.delete_multi(["b"])
    assert keystone.get_multi(["a", "b", "c"]) == {"c": 2}
    assert before.get("a") == {"role": "member"}


def test_results_that_bootstrap_changes_are_not_cached(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to Keystone during its bootstrap makes it cache that the administrator has no role."""
    stored: dict[str, tuple[bool, bytes]] = {}
    api = client("secret", stored)
    api.set("region of assignments", "before")
    pool = sys.modules["oslo_cache._memcache_pool"]
    pool._MemcacheClient = sys.modules["memcache"].Client  # type: ignore[attr-defined]

    def bootstrap() -> None:
        assert sys.argv == ["keystone-manage", "bootstrap"]
        pool._MemcacheClient(stored).set("region of assignments", "after")  # type: ignore[attr-defined]

    manage = ModuleType("keystone.cmd.manage")
    manage.main = bootstrap  # type: ignore[attr-defined]
    for name, module in {"keystone": ModuleType("keystone"), "keystone.cmd": ModuleType("cmd")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "keystone.cmd.manage", manage)
    monkeypatch.setattr(sys, "argv", ["/opt/stackwright/manage.py", "bootstrap"])
    runpy.run_path(str(BIN / "keystone/bin/manage.py"), run_name="__main__")
    assert api.get("region of assignments") == "after"


def test_no_client_of_memcached_unpickles_entries(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """keystonemiddleware checks signatures only after its client has deserialized the response of a server."""
    monkeypatch.syspath_prepend(str(BIN / "lib/bin"))
    __import__("no_pickles").install()
    stored = {"pickle": (True, pickle.dumps(Evil()))}
    service = sys.modules["memcache"].Client(stored)  # type: ignore[attr-defined]
    service.set("token", b"sealed by keystonemiddleware")
    assert (service.get("pickle"), service.get("token")) == (None, b"sealed by keystonemiddleware")


@dataclass
class Token:
    id: str
    expires: datetime
    user: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def serde(monkeypatch: pytest.MonkeyPatch) -> Any:
    names = ("django", "django.utils", "django.utils.functional", "keystoneauth1", "keystoneauth1.access")
    modules = {name: ModuleType(name) for name in (*names, "openstack_auth", "openstack_auth.user")}
    modules["django.utils.functional"].Promise = type("Promise", (), {})  # type: ignore[attr-defined]
    modules["keystoneauth1.access"].AccessInfo = type("AccessInfo", (), {})  # type: ignore[attr-defined]
    modules["openstack_auth.user"].Token = Token  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("sealed", "session_cache"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(BIN / "horizon/bin"))
    return __import__("session_cache").Serde


def test_a_session_of_horizon_is_read_unchanged(serde: Any) -> None:
    token = Token("t", datetime(2026, 1, 1, tzinfo=UTC), {"name": "demo"})
    session = {"token": token, "allowed": {"valid_for": token, "panel": True}, "start": "2026-01-01"}
    raw, flags = serde("secret").serialize(b":1:session", session)
    assert b"demo" not in raw
    found = serde("secret").deserialize(":1:session", raw, flags)
    assert found == session
    assert found["allowed"]["valid_for"] is found["token"]
    with pytest.raises(TypeError, match="Evil"):
        serde("secret").serialize("x", Evil())


def test_horizon_opens_no_session_that_it_did_not_write(serde: Any) -> None:
    mine = serde("secret")
    raw, _ = mine.serialize("victim", {"token": "t"})
    assert mine.deserialize("attacker", raw, 0) is None
    assert serde("other").deserialize("victim", raw, 0) is None
    for flags in (0, 1):
        assert mine.deserialize("victim", pickle.dumps(Evil()), flags) is None
