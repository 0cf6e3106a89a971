"""Node events: the condition Nodes of an OpenStackDeployment names lost nodes."""

from __future__ import annotations

from stackwright.api.kinds import NODE
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.node.decide import decide
from stackwright.controllers.node.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace


def controller() -> Controller:
    kind = OpenStackDeployment.KIND
    watch = Watch(NODE, all_in_namespace(kind))
    return Controller("node", "node", kind, (watch,), observe, decide, owns_ready=False, forecast=False)
