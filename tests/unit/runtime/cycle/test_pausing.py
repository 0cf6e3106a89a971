"""A paused object gets a plan without actions."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stackwright.controllers import machine
from stackwright.core.conditions import done
from stackwright.core.objects import FINALIZER
from stackwright.core.pausing import CLUSTER_API, STACKWRIGHT
from stackwright.core.plan import Delete, Plan
from stackwright.core.ports import Reader
from stackwright.runtime.cycle.pausing import decided, unchanged

MACHINE = machine.controller()
OBJ: dict[str, Any] = {
    "apiVersion": MACHINE.kind.api_version,
    "kind": MACHINE.kind.kind,
    "metadata": {"name": "m", "namespace": "ns", "uid": "u", "finalizers": [FINALIZER]},
    "status": {"ready": True, "project": "p"},
}
DELETING = {**OBJ, "metadata": {**OBJ["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
PLAN = Plan((Delete(MACHINE.kind, ("ns", "x")),), (done("Ready"),))
READER = cast(Reader, None)  # no owner is read


def never(seen: Any) -> Plan:
    raise AssertionError("decided on a paused object")


async def test_nothing_is_decided_on_an_object_that_cluster_api_pauses() -> None:
    for resumed in (False, True):  # `stackwright resume` does not end that pause
        plan = await decided(MACHINE, SimpleNamespace(obj=OBJ, paused="a test"), READER, never, resumed=resumed)
        assert (plan.actions, plan.status, plan.conditions[-1].message) == ((), OBJ["status"], "Paused by a test")


async def test_the_changes_of_an_object_that_stackwright_pauses_wait_until_it_is_resumed() -> None:
    own = {**OBJ, "metadata": {**OBJ["metadata"], "annotations": {STACKWRIGHT.annotation: STACKWRIGHT.value}}}
    seen, controller = SimpleNamespace(obj=own), replace(MACHINE, pause=STACKWRIGHT)
    plan = await decided(controller, seen, READER, lambda seen: PLAN)
    assert not plan.actions and "1 change waits" in plan.conditions[0].message
    assert await decided(controller, seen, READER, lambda seen: PLAN, resumed=True) == PLAN
    assert await decided(replace(MACHINE, pause=None), seen, READER, lambda seen: PLAN) == PLAN


@pytest.mark.parametrize(
    ("pause", "value", "pauses"),
    [(STACKWRIGHT, "true", True), (STACKWRIGHT, "", False), (STACKWRIGHT, "false", False), (CLUSTER_API, "", True)],
)
def test_only_cluster_api_ignores_the_value_of_the_annotation(pause, value, pauses) -> None:
    assert pause.is_set({"metadata": {"annotations": {pause.annotation: value}}}) is pauses
    assert not pause.is_set({"metadata": {}})


def test_an_object_paused_during_deletion_is_not_ready_and_reports_why() -> None:
    plan = unchanged(DELETING, "the annotation x")
    assert plan.actions == ()
    assert plan.status == {"ready": False, "project": "p"}
    assert "its resources in OpenStack are kept until the pause ends" in plan.conditions[0].message
    assert unchanged(OBJ, "the annotation x").status == {"ready": True, "project": "p"}
