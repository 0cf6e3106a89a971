"""`stackwright plan` of a user who may not read the pull Secrets of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, DAEMONSET, NODE, SECRET
from stackwright.api.meta import Kind
from stackwright.cli import foresee
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.pull_secrets import FIELD, TYPE
from stackwright.core.errors import TerminalError
from stackwright.core.kubernetes import precache
from stackwright.core.objects import OWNER, owner_label
from stackwright.core.plan import Delete, Key, Object
from stackwright.core.ports import Reader
from stackwright.core.secrets.writes import GatherSecret
from stackwright.core.settings import Settings
from stackwright.forecast.simulate import Forecast, Request, simulate
from stackwright.runtime.memory import MemoryCluster
from tests.scenario.world import NAMESPACE, cloud_object

COPY = {"type": TYPE, "data": {FIELD: ""}}


class WithoutRights(MemoryCluster):
    async def get(self, kind: Kind, key: Key) -> Object | None:
        if kind == SECRET and key[0] != NAMESPACE:
            raise TerminalError(f"get Secret {'/'.join(key)}: forbidden")
        return await super().get(kind, key)


@pytest.mark.parametrize("copied", [True, False])
async def test_the_plan_needs_no_right_to_read_them(monkeypatch: pytest.MonkeyPatch, copied: bool) -> None:
    """All pods refer to them nevertheless, and an existing copy is kept."""
    cluster, told, plans = WithoutRights(), list[str](), list[Forecast]()
    cluster.put(NODE, {"metadata": {"name": "node1", "labels": {"openstack-control-plane": "enabled"}}})
    place = {"namespace": foresee.OPERATOR_NAMESPACE, "name": foresee.IMAGES}
    pulls = '{"secrets": [{"name": "registry"}]}'
    cluster.put(CONFIGMAP, {"metadata": place, "data": {"images.json": "{}", "pulls.json": pulls}})
    obj = cluster.put(OpenStackDeployment.KIND, cloud_object())
    if copied:
        labels = {OWNER: owner_label({**obj, "kind": OpenStackDeployment.KIND.kind})}
        cluster.put(SECRET, {"metadata": {"name": "registry", "namespace": NAMESPACE, "labels": labels}, **COPY})

    async def forecast(reader: Reader, settings: Settings, request: Request, now: float, *_: Any) -> Any:
        plans.append(await simulate(reader, settings, request, now))
        return [], {}

    monkeypatch.setattr(foresee, "forecast", forecast)
    await foresee.foresee(cluster, [], NAMESPACE, tell=told.append)
    (plan,) = plans
    assert [text for text in told if f"{foresee.OPERATOR_NAMESPACE}/registry" in text]
    touched = [step for step in plan.steps if isinstance(step.action, GatherSecret | Delete)]
    assert not [step for step in touched if step.action and "registry" in step.action.target]
    holder = await plan.world.get(DAEMONSET, (NAMESPACE, precache.NAME))
    assert holder and holder["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "registry"}]
