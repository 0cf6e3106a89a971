"""The record of a server in its status, also in that of Cluster API Provider OpenStack, which names no resource."""

from __future__ import annotations

from stackwright.controllers.server.record import record_of, written
from stackwright.core.openstack.resources import SERVER_KEY, ResourceKey

A, B, TRUNK = ("port", "web-0"), ("port", "web-1"), ("trunk", "web-1")
ROOT, DATA = ("volume", "root"), ("volume", "0")
SLOTS: list[ResourceKey] = [A, B, TRUNK, ROOT, DATA, SERVER_KEY]


def test_entries_without_a_name_are_the_slots_in_order() -> None:
    resources = {"ports": [{"id": "a"}, {"id": "b"}], "trunks": [{"id": "t"}], "volumes": [{"id": "r"}, {"id": "d"}]}
    found = record_of({"resources": resources, "instanceID": "s"}, SLOTS)
    assert found == {A: "a", B: "b", TRUNK: "t", ROOT: "r", DATA: "d", SERVER_KEY: "s"}
    assert record_of(written(found)) == found


def test_named_entries_keep_their_slots() -> None:
    assert record_of({"resources": {"ports": [{"id": "b"}, {"name": "web-0", "id": "a"}]}}, SLOTS) == {A: "a", B: "b"}


def test_entries_without_a_slot_are_named_by_their_ids() -> None:
    resources = {"ports": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "volumes": [{"name": "0", "id": "d"}, {"id": "r"}]}
    ports = {A: "a", B: "b", ("port", "c"): "c"}
    assert record_of({"resources": resources}, SLOTS) == {**ports, DATA: "d", ROOT: "r"}
    assert record_of({"resources": resources}).keys() == {
        *(("port", id_) for id_ in "abc"),
        DATA,
        ("volume", "r"),
    }
