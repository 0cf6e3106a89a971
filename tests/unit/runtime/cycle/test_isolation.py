"""Failed actions of a plan: which others are executed, and what is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from stackwright.api.kinds import CONFIGMAP
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.controller import Controller
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.openstack.calls import CloudCall, PendingId
from stackwright.core.openstack.resources import CloudRef, ResourceKey
from stackwright.core.plan import Action, Apply, Key, Object, Plan, apart, staged
from stackwright.core.ports import Reader
from stackwright.runtime.cycle.cycle import PATIENCE, Cycle, Failure, Result
from stackwright.runtime.memory import FrozenClock

KEY = ("n", "x")
OBJ: Object = {"kind": "ConfigMap", "metadata": {"namespace": "n", "name": "x"}, "status": {"before": True}}
NETWORK: ResourceKey = ("network", "cluster")
CALL = CloudCall(cast(CloudRef, None), "create", NETWORK, "u")


def write(name: str) -> Apply:
    return Apply(CONFIGMAP, {"metadata": {"name": name}})


class Run:
    """One cycle of a plan. `errors` are raised by the actions on the objects of these names, after `slow` seconds."""

    def __init__(self, errors: Mapping[str, Exception], slow: float = 0.0) -> None:
        self.errors, self.slow, self.clock = errors, slow, FrozenClock()
        self.tried: list[str] = []
        self.told = Plan()

    async def __call__(self, *actions: Action, stages: Sequence[Condition] = (), **status: Any) -> Result:
        async def observe(*_: Any) -> Any:
            return self

        self.obj = OBJ
        plan = staged(stages or (done("A"), done("B")), status or {"after": True}, actions)
        controller = Controller("test", "test", CONFIGMAP, (), observe, lambda _: plan)
        return await Cycle(cast(Reader, None), self.clock, self._execute, self._report).run(controller, KEY)

    async def _execute(self, _: Controller, key: Key, actions: Sequence[Action]) -> Mapping[ResourceKey, str]:
        for action in actions:
            name = action.obj["metadata"]["name"] if isinstance(action, Apply) else "call"
            self.tried.append(name)
            if name in self.errors:
                self.clock.forward(self.slow)
                raise self.errors[name]
        return {NETWORK: "id"} if CALL in actions else {}

    async def _report(self, _: Controller, plan: Plan, current: Object, failure: Failure | None) -> bool:
        self.told = plan
        return True

    @property
    def conditions(self) -> list[tuple[str, str, str]]:
        return [(each.type, each.reason, each.message) for each in self.told.conditions]


async def test_an_action_without_a_stage_needs_all_before_it() -> None:
    run = Run({"a": TerminalError("no")})
    result = await run(write("a"), write("b"), *apart("B", [write("c"), write("d")]), write("e"))
    assert run.tried == ["a", "c", "d"]
    assert isinstance(result.failure, TerminalError)
    assert run.conditions[0] == ("Ready", "BlockedRefused", "no")
    assert run.told.status == {}, "the rest assumes that it succeeded"


async def test_an_action_with_a_stage_is_reported_by_it_and_nothing_else_depends_on_it() -> None:
    run = Run({"a": TransientError("one"), "b": TransientError("two")})
    result = await run(*apart("A", [write("a"), write("b")]), *apart("B", [write("c")]), write("d"))
    assert run.tried == ["a", "b", "c"]
    assert str(result.failure) == "one", "the first"
    assert run.conditions == [("Ready", "Waiting", "one"), ("A", "Waiting", "one"), ("B", "Done", "")]
    assert run.told.status == {"after": True}


async def test_ready_reports_the_worst_of_stages_and_errors() -> None:
    run = Run({"a": TransientError("one")})
    stages = waiting("A", "Applying"), blocked("B", "InvalidSpec", "mend it")
    await run(*apart("A", [write("a")]), stages=stages)
    assert run.conditions[0] == ("Ready", "BlockedInvalidSpec", "mend it")
    await run(*apart("A", [write("a")]), stages=stages[:1])
    assert run.conditions[0] == ("Ready", "Waiting", "one")


async def test_an_id_is_recorded_although_an_action_with_a_stage_failed() -> None:
    run = Run({"a": TransientError("one")})
    await run(CALL, *apart("A", [write("a")]), id=PendingId(NETWORK))
    assert run.told.status == {"id": "id"}


async def test_a_resource_whose_creation_failed_is_not_recorded_and_the_rest_is_reported() -> None:
    run = Run({"call": TransientError("quota")})
    items = [{"id": "old"}, {"id": PendingId(NETWORK)}]
    await run(*apart("A", [CALL]), *apart("B", [write("a")]), resources=items, after=True)
    assert run.tried == ["call", "a"]
    assert run.told.status == {"resources": [{"id": "old"}], "after": True}
    assert run.conditions == [("Ready", "Waiting", "quota"), ("A", "Waiting", "quota"), ("B", "Done", "")]


async def test_after_a_conflict_only_independent_actions_are_executed() -> None:
    run = Run({"a": Conflict("changed", CONFIGMAP, KEY)})
    with pytest.raises(Conflict):
        await run(*apart("A", [write("a"), write("b")]), write("c"))
    assert run.tried == ["a", "b"]


async def test_after_a_slow_failure_no_further_action_begins() -> None:
    """Each may take minutes: then the first, which is the most urgent, is soon tried again."""
    run = Run({name: TransientError("slow") for name in "abcd"}, slow=PATIENCE * 0.6)
    await run(*apart("A", map(write, "abcd")))
    assert run.tried == ["a", "b"]
