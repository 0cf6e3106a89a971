"""The plan of one namespace: the entries of its forecast, their costs, and the objects that would not become ready."""

from __future__ import annotations

from stackwright.core.ports import Reader
from stackwright.core.settings import Settings
from stackwright.forecast.background import background
from stackwright.forecast.costs import Render, costs
from stackwright.forecast.entries import CUT_OFF, NOTE, Entry, Topic, entries
from stackwright.forecast.simulate import Cause, Outside, Request, simulate


async def forecast(
    reader: Reader,
    settings: Settings,
    request: Request,
    now: float,
    outside: Outside | None = None,
    render: Render | None = None,
) -> tuple[list[Entry], dict[str, Cause]]:
    """The steps and their costs, and the objects that would not be ready after them, each with its cause.

    render  renders a chart to manifests; without it, restarts of pods are unknown
    """
    result = await simulate(reader, settings, request, now, outside)
    found = entries(result.steps, await background(result, settings, request.namespace))
    for cloud, why in result.unreachable.items():
        assumed = "the plan assumes that all recorded resources exist"
        found.insert(0, Entry(NOTE, Topic.UNREACHABLE, f"{cloud} cannot be queried from here: {why}", assumed))
    if not result.settled:
        found.append(CUT_OFF)
    found += await costs(reader, result, request.namespace, render)
    return found, result.stuck
