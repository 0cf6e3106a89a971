"""The steps of `up`: each is a file in `local/steps/` with a title, a cheap `done`, and a `run`.

Steps are level-triggered: each inspects the current state, so another call resumes an interrupted bring-up.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType

from stackwright.local.commands import Report
from stackwright.local.steps import builds, packages, preflight, tools
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import api, certificates, control_plane, dns, host_setup, nodes, runtimes
from stackwright.local.steps.openstack import cloud, demo, hosts, operator, token, volumes

MACHINE: tuple[ModuleType, ...] = (
    preflight,
    packages,
    builds,
    certificates,
    host_setup,
    control_plane,
    runtimes,
    api,
    nodes,
    dns,
)
STACKWRIGHT: tuple[ModuleType, ...] = (volumes, operator, cloud, hosts, token, demo)
STEPS = MACHINE + STACKWRIGHT

Phase = Callable[[str], AbstractContextManager[Report]]
"""Shows one step: its title on entry, its outcome on exit."""
Skip = Callable[[str, str], None]
"""Shows a step that does not apply: its title and the reason."""


def steps(ctx: Context) -> tuple[ModuleType, ...]:
    """The steps that apply; an existing cluster needs neither those for the machine nor those for volumes."""
    if ctx.kubeconfig:
        return (tools, operator, cloud, token)
    if ctx.bare:
        return MACHINE
    return STEPS


def up(ctx: Context, phase: Phase, skip: Skip) -> None:
    for step in steps(ctx):
        if hasattr(step, "skipped") and (reason := step.skipped(ctx)):
            skip(step.TITLE, reason)
            continue
        with phase(step.TITLE) as report:
            if not step.done(ctx):
                step.run(ctx, report)
