"""What services keep in memcached: whoever else reaches it can neither read nor make it, nor run code through it."""

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BIN = Path(__file__).parents[2] / "charts"
RAN: list[str] = []


class Evil:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return RAN.append, ("here",)


class Memcached:
    """python-memcached's client: what is not bytes goes as a pickle."""

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


@pytest.fixture(autouse=True)
def _nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Keystone's cache makes its connections of."""
    package, pool = ModuleType("oslo_cache"), ModuleType("oslo_cache._memcache_pool")
    pool._MemcacheClient = Memcached  # type: ignore[attr-defined]
    package._memcache_pool = pool  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "oslo_cache", package)
    monkeypatch.setitem(sys.modules, "oslo_cache._memcache_pool", pool)
    for name in ("sealed", "sealed_cache"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(BIN / "keystone/bin"))
    sealed_cache = __import__("sealed_cache")

    def made(secret: str, stored: dict[str, tuple[bool, bytes]]) -> Any:
        pool._MemcacheClient = Memcached  # type: ignore[attr-defined]
        sealed_cache.install(secret)
        return pool._MemcacheClient(stored)

    return made


def test_keystone_reads_what_it_wrote_and_nobody_else_does(client: Any) -> None:
    stored: dict[str, tuple[bool, bytes]] = {}
    keystone = client("secret", stored)
    keystone.set("a", ("value", 1))
    keystone.set_multi({"b": {"role": "member"}})
    assert client("secret", stored).get("a") == ("value", 1)
    assert client("secret", stored).get_multi(["a", "b"]) == {"a": ("value", 1), "b": {"role": "member"}}
    assert not any(b"member" in raw for _, raw in stored.values())
    assert client("rotated", stored).get("a") is None
    assert client("rotated", stored).get_multi(["a", "b"]) == {}


def test_keystone_believes_nothing_that_others_put_there(client: Any) -> None:
    stored: dict[str, tuple[bool, bytes]] = {}
    keystone = client("secret", stored)
    keystone.set("admin", "roles of admin")
    stored["mine"] = stored["admin"]
    stored["pickle"] = (True, pickle.dumps(Evil()))
    stored["bytes"] = (False, pickle.dumps(Evil()))
    assert [keystone.get(key) for key in ("mine", "pickle", "bytes")] == [None, None, None]
    assert keystone.get_multi(["mine", "pickle", "bytes"]) == {}


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


def test_a_session_of_horizon_comes_back_as_it_was(serde: Any) -> None:
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
