"""The types of resources that are listed for a server."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.server.objects import parts
from stackwright.controllers.server.observe import KINDS, Observed, kinds_of
from stackwright.controllers.server.record import record_of

PORT: dict[str, Any] = {"name": "web-0", "networkID": "n"}
PLAIN: dict[str, Any] = {"ports": [{}]}
RESOLVED: dict[str, Any] = {"imageID": "i", "flavorID": "f", "ports": [PORT]}
DEVICES = {kind: [{"name": "data", "sizeGiB": 1, "storage": {"type": kind}}] for kind in ("Local", "Volume")}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
SERVER = ("server", "port")


def kinds(spec: dict[str, Any], status: dict[str, Any], errors: tuple[str, ...] = (), **meta: Any) -> tuple[str, ...]:
    return kinds_of(Observed({"metadata": meta, "status": status}, 0.0, spec, errors), record_of(status))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PLAIN, SERVER),
        ({**PLAIN, "trunk": True}, (*SERVER, "trunk")),
        ({"ports": [{"trunk": False}], "trunk": True}, SERVER),
        ({"ports": [{}, {"trunk": True}]}, (*SERVER, "trunk")),
        ({**PLAIN, "rootVolume": {"sizeGiB": 1}}, (*SERVER, "volume")),
        ({**PLAIN, "additionalBlockDevices": DEVICES["Volume"]}, (*SERVER, "volume")),
        ({**PLAIN, "additionalBlockDevices": DEVICES["Local"]}, SERVER),
    ],
)
def test_the_spec_determines_the_types(spec: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert kinds(spec, {}) == expected
    assert kinds(spec, {"resolved": RESOLVED}, **GOING) == expected
    ports = [{**PORT, "name": f"web-{n}", "trunk": "trunk" in expected} for n, _ in enumerate(spec["ports"])]
    made = parts(("ns", "web"), spec, {**RESOLVED, "ports": ports})
    assert {part.resource_key[0] for part in made} == set(expected)


@pytest.mark.parametrize("meta", [{}, GOING], ids=["exists", "deleted"])
def test_recorded_types_are_added(meta: dict[str, Any]) -> None:
    for field in ("trunk", "volume"):
        status = {"resolved": RESOLVED, "resources": {f"{field}s": [{"id": "1"}]}}
        assert kinds(PLAIN, status, **meta) == (*SERVER, field)
    assert kinds(PLAIN, {"resolved": {**RESOLVED, "ports": [{**PORT, "trunk": True}]}}, **meta) == (*SERVER, "trunk")


def test_a_deletion_without_a_valid_spec_or_without_a_status_looks_for_all_types() -> None:
    assert kinds({"ports": "none"}, {"resolved": RESOLVED}, ("spec.ports: must be a list",), **GOING) == KINDS
    assert kinds(PLAIN, {}, **GOING) == KINDS
