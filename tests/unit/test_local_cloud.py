"""The step of `up` that applies the cloud, while the operator that checks it is not there yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackwright.local import waiting
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.steps import charts, cloud
from stackwright.local.steps.context import Context

NOBODY = 'failed calling webhook "validate": no endpoints available for service "stackwright-webhook"'
CONDITION = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1}
READY = {"metadata": {"generation": 1}, "status": {"conditions": [CONDITION]}}


class Kubectl:
    def __init__(self, *refusals: str) -> None:
        self.refusals = list(refusals)
        self.applied = 0

    def __call__(self, ctx: Context, *words: str) -> str:
        if words[0] == "get":
            return json.dumps({"items": [READY]})
        if self.refusals:
            raise LocalError(self.refusals.pop(0))
        self.applied += 1
        return ""


class Clock:
    """A second passes with each pause."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, _: float) -> None:
        self.now += 1.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "time", Clock())


def applied(monkeypatch: pytest.MonkeyPatch, kubectl: Kubectl) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(charts, "kubectl", kubectl)
    cloud.run(Context(LocalCluster.discover(), manifest=Path("cloud.yaml")), told.append)
    return told


def test_a_webhook_that_cannot_be_asked_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    other = 'failed calling webhook "validate": connection refused'
    kubectl = Kubectl(NOBODY, NOBODY, other)
    said = "waiting for the operator, which checks what is applied: "
    assert applied(monkeypatch, kubectl) == [said + NOBODY, said + other], "each cause once, after a moment"
    assert kubectl.applied == 1


def test_what_the_webhook_refuses_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = Kubectl('admission webhook "validate" denied the request: spec.nothing: unknown field')
    with pytest.raises(LocalError, match="denied the request"):
        applied(monkeypatch, kubectl)
    assert not kubectl.applied


def test_a_webhook_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud, "WEBHOOK_LIMIT", -1.0)
    with pytest.raises(LocalError, match="no endpoints available"):
        applied(monkeypatch, Kubectl(NOBODY))
