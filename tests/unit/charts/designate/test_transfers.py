"""Requests of workers to PowerDNS, and the pool that the Job writes."""

from __future__ import annotations

import json
import runpy
import socket
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from support.paths import ROOT
from tests.unit.charts.barbican.test_kek import module

BIN = ROOT / "charts/designate/bin"
ZONE = SimpleNamespace(name="a.example.")


class Backend(Exception):
    pass


class Driver:
    """The parts of Designate's driver that matter here."""

    headers: dict[str, str] = {"X-API-Key": "key"}  # noqa: RUF012 - of a fake

    def __init__(self) -> None:
        self.created: list[str] = []

    def _build_url(self, zone: str = "") -> str:
        return f"http://powerdns:8081/api/v1/servers/localhost/zones/{zone}"

    def create_zone(self, context: object, zone: Any) -> None:
        self.created.append(zone.name)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The library `requests`."""
    requests: Any = Mock(HTTPError=OSError)
    requests.put.return_value = SimpleNamespace(ok=True)
    monkeypatch.setitem(sys.modules, "requests", requests)
    module(monkeypatch, "designate.exceptions", Backend=Backend)
    module(monkeypatch, "designate.backend.impl_pdns4", PDNS4Backend=type("PDNS4", (Driver,), {}), requests=None)
    runpy.run_path(str(BIN / "transfers.py"))["install"]()
    return requests


def driver() -> Any:
    return sys.modules["designate.backend.impl_pdns4"].PDNS4Backend()  # type: ignore[attr-defined]


def test_a_new_and_a_changed_zone_are_transferred_by_a_request_with_the_key(sent: Mock) -> None:
    made = driver()
    made.create_zone(None, ZONE)
    assert made.created == ["a.example."]
    made.update_zone(None, ZONE)
    assert sent.put.call_count == 2
    url = "http://powerdns:8081/api/v1/servers/localhost/zones/a.example./axfr-retrieve"
    sent.put.assert_called_with(url, headers={"X-API-Key": "key"}, timeout=10)


def test_a_refused_transfer_is_an_error_that_designate_repeats(sent: Mock) -> None:
    sent.put.return_value = SimpleNamespace(ok=False, status_code=500, reason="Internal Server Error")
    with pytest.raises(Backend, match=r"does not transfer a\.example\.: 500 Internal Server Error"):
        driver().update_zone(None, ZONE)


@pytest.mark.parametrize("name", ["get", "post", "put", "delete"])
def test_every_request_of_the_driver_ends(sent: Mock, name: str) -> None:
    used: Any = sys.modules["designate.backend.impl_pdns4"].requests  # type: ignore[attr-defined]
    getattr(used, name)("http://powerdns")
    getattr(sent, name).assert_called_with("http://powerdns", timeout=10)
    assert used.HTTPError is sent.HTTPError


def test_the_pool_has_addresses_instead_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"powerdns.here": "10.0.0.1", "designate-mdns.here": "10.0.0.2"}
    tries: list[str] = []

    def find(name: str, *_: object, **__: object) -> list[Any]:
        tries.append(name)
        if len(tries) == 1:
            raise socket.gaierror("not yet")
        return [(None, None, None, "", (known[name], 0))]

    loaded = runpy.run_path(str(BIN / "pool.py"))
    monkeypatch.setattr(socket, "getaddrinfo", find)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    told = {"name_server": "powerdns.here", "port": 53, "mdns": "designate-mdns.here", "mdns_port": 5354}
    told |= {"api": "http://powerdns.here:8081", "ns_records": ["ns1.a.", "ns2.a."]}
    found = loaded["pool"](json.loads(json.dumps(told)), "key")
    (target,) = found["targets"]
    assert target["masters"] == [{"host": "10.0.0.2", "port": 5354}]
    assert found["nameservers"] == [{"host": "10.0.0.1", "port": 53}]
    assert target["options"] == {
        "host": "10.0.0.1", "port": 53, "api_endpoint": "http://powerdns.here:8081", "api_token": "key",
    }  # fmt: skip
    assert found["ns_records"] == [{"hostname": "ns1.a.", "priority": 1}, {"hostname": "ns2.a.", "priority": 2}]
