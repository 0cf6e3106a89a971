"""kstatus computes the intended state from the status of all objects of a cloud."""

from __future__ import annotations

import pytest

from stackwright.core.conditions import find, is_ready, is_true
from stackwright.core.plan import Object
from support.kstatus import argocd, kstatus
from tests.scenario.cloud_phases import CLOUD, phases

pytestmark = pytest.mark.looptime


def said(objects: list[Object]) -> set[str]:
    return {kstatus(obj) for obj in objects}


async def test_kstatus_tells_the_phases_of_a_cloud_apart() -> None:
    found = await phases()
    assert said(found["new"]) == said(found["changed"]) == {"InProgress"}
    assert said(found["ready"]) == {"Current"}
    assert said(found["installing"]) == {"InProgress", "Current"}, "nothing fails on the way"
    assert said(found["deleting"]) == {"Terminating"}
    for phase, health in (("blocked", "Degraded"), ("paused", "Suspended")):
        (cloud,) = [obj for obj in found[phase] if obj["kind"] == CLOUD.kind]
        assert (kstatus(cloud), argocd(cloud)) == ("Failed", health), phase


async def test_an_object_is_current_only_if_it_is_ready_and_failed_only_if_it_is_stalled() -> None:
    objects = [obj for name, each in (await phases()).items() if name != "deleting" for obj in each]
    assert len(objects) > 100
    for obj in objects:
        assert (kstatus(obj) == "Current") == is_ready(obj), obj
        if kstatus(obj) == "Failed":
            assert is_true(obj, "Stalled"), obj
        if (find(obj) or {}).get("status"):
            assert sum(is_true(obj, type_) for type_ in ("Ready", "Reconciling", "Stalled")) == 1, obj
