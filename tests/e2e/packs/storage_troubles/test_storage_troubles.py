"""Faults of storage: a full or missing pool, a wrong key, no monitor. They are reported by name."""

from __future__ import annotations

from typing import Any

import pytest
from faults.storage_faults import full_pool, missing_pool, monitor_gone, wrong_key
from harness import eventually
from storage import Storage
from vms import Vm

pytestmark = pytest.mark.usefixtures("undisturbed")

SHOWN_LIMIT = 90
NEW_KEY_LIMIT = 240


@pytest.mark.parametrize(
    ("trouble", "condition", "reason", "part"),
    [
        (full_pool, "Capacity", "PoolFull", "volumes"),
        (wrong_key, "Keys", "WrongKey", "client.glance"),
        (missing_pool, "Pools", "MissingPool", "volumes"),
        (monitor_gone, "Monitors", "NoQuorum", "mon"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
def test_a_fault_is_reported_by_name_while_it_lasts(
    storage: Storage, writer_vm: tuple[Vm, str], trouble: Any, condition: str, reason: str, part: str
) -> None:
    cloud = storage.cloud

    def told() -> dict[str, str]:
        return cloud.condition(condition, "cephs.stackwright.dev/ceph")

    with trouble(storage):
        shown = eventually(lambda: told()["reason"] == reason, limit=SHOWN_LIMIT)
        assert told()["status"] == "False"
        assert part in told()["message"]
        eventually(lambda: "Ceph" in cloud.condition()["message"] and part in cloud.condition()["message"], limit=30)
        assert cloud.condition()["status"] == "False"
    gone = eventually(lambda: told()["status"] == "True", limit=NEW_KEY_LIMIT, pause=1)
    print(f"{condition} {reason}: told after {shown:.0f} s, taken back after {gone:.0f} s")
