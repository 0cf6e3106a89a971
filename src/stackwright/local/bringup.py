"""`up`, as a table of contents: each step is a file of `local/steps/` with a title, a cheap `done`, and a `run`.

Steps are level-triggered: each looks at what is there, so an interrupted bring-up resumes by being called again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType

from stackwright.local.commands import Report
from stackwright.local.steps import host_setup, images, packages, preflight, tools
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import api, certificates, control_plane, dns, nodes, runtimes
from stackwright.local.steps.openstack import cloud, demo, hosts, operator, token, volumes

MACHINE: tuple[ModuleType, ...] = (
    preflight,
    packages,
    tools,
    images,
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
"""Shows one step: enters with its title, leaves with its outcome."""
Skip = Callable[[str, str], None]
"""Shows one step that does not apply: its title, and the reason."""


def steps(ctx: Context) -> tuple[ModuleType, ...]:
    """Somebody else's cluster has a machine, and volumes, of its own."""
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
