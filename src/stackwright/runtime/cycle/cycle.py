"""One reconcile of one object: observe → decide → execute → report.

The operator runs it for the keys of its queue, on its cache (runtime/reconcile.py); `simulate` runs it on a copy of the
cluster in memory. They differ only in the ports: reader, clock, executor and reporter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from stackwright.core.conditions import steady
from stackwright.core.controller import Controller
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.objects import key_of
from stackwright.core.openstack.calls import limit_deletions, removes, resolve_pending
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Key, Object, Plan
from stackwright.core.ports import Clock, Cluster, Reader
from stackwright.runtime.cycle.pausing import decided
from stackwright.runtime.cycle.report import after_failure, report, with_failed_stages

PATIENCE = 60.0  # seconds: after a failure, no further action of the plan begins later, as each may take minutes
SOON = 2.0  # seconds from a deletion in an OpenStack to the next reconcile: deletions are short, or never end
Failure = TransientError | TerminalError


class Executor(Protocol):
    async def __call__(self, controller: Controller, key: Key, actions: Sequence[Action]) -> Mapping[ResourceKey, str]:
        """Execute the actions; returns the ids of resources created in clouds. Raises the first action's error."""


class Reporter(Protocol):
    async def __call__(self, controller: Controller, plan: Plan, current: Object, failure: Failure | None) -> bool:
        """Write the status of the plan, also after a failed action; returns whether it was written."""


class Result(NamedTuple):
    """outcome  gone, changed, unchanged or failed
    requeue  seconds until the next reconcile without an event; None for never
    failure  the error of the first failed action; it is reported already
    """

    outcome: str
    requeue: float | None = None
    failure: Failure | None = None


GONE = Result("gone")


class Cycle:
    """resumed  whether `stackwright pause` holds no actions
    limited  whether a plan deletes a limited number of resources in an OpenStack
    """

    def __init__(
        self,
        reader: Reader,
        clock: Clock,
        execute: Executor,
        report: Reporter,
        *,
        resumed: bool = False,
        limited: bool = True,
    ) -> None:
        self._reader, self._clock, self._execute, self._report = reader, clock, execute, report
        self._resumed, self._limited = resumed, limited

    async def run(self, controller: Controller, key: Key) -> Result:
        """Reconcile an object once. Raises Conflict, and errors of the observation and of the report."""
        seen = await controller.observe(self._reader, key, self._clock.now())
        if seen is None:
            return GONE
        plan = await decided(controller, seen, self._reader, self._decide(controller), resumed=self._resumed)
        made, failures = await self._run_all(controller, key, plan.actions)
        told = with_failed_stages(plan, failures)
        if "" in failures:
            told = after_failure(controller, told, seen.obj, failures[""])
        else:
            told = replace(told, status=resolve_pending(plan.status, made))
        failure = next(iter(failures.values()), None)
        written = await self._report(controller, told, seen.obj, failure)
        if failure is not None:
            return Result("failed", failure=failure)
        return Result("changed" if plan.actions or written else "unchanged", plan.requeue)

    def _decide(self, controller: Controller) -> Callable[[Any], Plan]:
        return (lambda seen: bounded(controller.decide(seen))) if self._limited else controller.decide

    async def _run_all(
        self, controller: Controller, key: Key, actions: Sequence[Action]
    ) -> tuple[Mapping[ResourceKey, str], Mapping[str, Failure]]:
        """Execute actions; returns the ids of created resources and the first error of each stage, in order.

        An action without a stage is skipped after an error. A Conflict is raised when all others were executed.
        """
        latest = self._clock.now() + PATIENCE
        made: dict[ResourceKey, str] = {}
        failures: dict[str, Failure] = {}
        conflict: Conflict | None = None
        for stage, group in _chains(actions):
            if (failures or conflict) and (not stage or self._clock.now() > latest):
                continue
            try:
                made |= await self._execute(controller, key, group)
            except (TransientError, TerminalError) as error:
                failures.setdefault(stage, error)
            except Conflict as error:
                conflict = conflict or error
        if conflict is not None:
            raise conflict
        return made, failures


def _chains(actions: Sequence[Action]) -> Iterator[tuple[str, list[Action]]]:
    """Successive actions without a stage together, and each one with a stage alone."""
    for stage, group in groupby(actions, key=lambda action: action.stage):
        members = list(group)
        yield from [(stage, [each]) for each in members] if stage else [("", members)]


def bounded(plan: Plan) -> Plan:
    """The plan with a limited number of deletions; the next reconcile decides on the rest, which stays on record."""
    actions = limit_deletions(plan.actions)
    if len(actions) < len(plan.actions) or (plan.requeue == 0 and any(map(removes, actions))):
        return replace(plan, actions=actions, requeue=SOON)
    return plan


class StatusReporter:
    """The Reporter of the operator. A controller whose object has no status of ours reports failures by an Event."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock

    async def __call__(self, controller: Controller, plan: Plan, current: Object, failure: Failure | None) -> bool:
        if failure is not None and not controller.reports:
            await self._cluster.event(current, "Failed", steady(str(failure)), True)
            return False
        try:
            return await report(controller, plan, current, self._cluster, self._clock.now())
        except TerminalError:
            # If the object was deleted during the reconcile, it has no status to write.
            if await self._cluster.get(controller.kind, key_of(current)) is None:
                return False
            raise
