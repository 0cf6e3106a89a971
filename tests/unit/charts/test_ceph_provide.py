"""What `ceph-provide` does about requests that the operator would not write."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ceph/bin"
POOL = {"name": "images", "role": "images"}
CAPS = {"mon": "profile rbd", "osd": "profile rbd pool=images"}


@pytest.fixture
def provide(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, module in {"rados": {}, "kubernetes": {"Kubernetes": object}}.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**module))
    for name, value in {"SIZE": "1", "PG_NUM": "1", "DEVICE_CLASS": "ssd"}.items():
        monkeypatch.setenv(f"POOL_{name}", value)
    monkeypatch.setenv("CLIENT_OPTIONS", "{}")
    monkeypatch.syspath_prepend(str(BIN))
    for name in ("provide", "identity"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("provide")


def test_a_request_for_a_reserved_user_of_ceph_changes_nothing_and_blocks_no_other(provide: ModuleType) -> None:
    asked: list[Any] = []
    written: dict[str, str] = {}

    def ask(prefix: str, **arguments: Any) -> Any:
        asked.append((prefix, arguments.get("entity")))
        found = {"osd pool ls": [], "auth ls": {"auth_dump": []}, "auth get-or-create": [{"key": "K"}]}
        return found.get(prefix)

    def apply(kind: str, name: str, obj: Any, **more: Any) -> None:
        written.update(obj["data"])

    clients = {name: {"caps": CAPS, "pools": [POOL]} for name in ("admin", "rgw", "glance")}
    ceph = SimpleNamespace(ask=ask, monitors={"mon-0": "10.0.0.1"})
    requests = {"metadata": {}, "data": {"requests.json": json.dumps({"clients": clients})}}
    provide.provide(ceph, SimpleNamespace(get=lambda *_: None, apply=apply), requests)
    assert [entity for prefix, entity in asked if prefix.startswith("auth ") and entity] == ["client.glance"]
    assert written.keys() == {"mon_endpoints", "glance"}
    assert base64.b64decode(written["glance"]).decode().startswith("client.glance;K")
