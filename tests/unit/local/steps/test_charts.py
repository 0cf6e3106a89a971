"""Releases of the last steps of `up`, after a helm that was killed."""

from __future__ import annotations

import json

import pytest

from stackwright.local.config import LocalCluster
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts


@pytest.mark.parametrize(
    ("status", "deleted"),
    [
        ("pending-upgrade", True),
        ("pending-install", True),
        ("uninstalling", True),
        ("deployed", False),
        ("failed", False),
    ],
)
def test_only_the_record_of_an_interrupted_helm_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, status: str, deleted: bool
) -> None:
    calls: list[tuple[str, ...]] = []
    found = json.dumps([{"name": "stackwright", "status": status, "revision": "3"}])
    monkeypatch.setattr(charts, "helm", lambda ctx, *words: found)
    monkeypatch.setattr(charts, "kubectl", lambda ctx, *words: calls.append(words))
    charts._forget_interrupted(Context(LocalCluster.discover()), "stackwright", "stackwright")
    wanted = ("delete", "secret", "sh.helm.release.v1.stackwright.v3", "--namespace", "stackwright")
    assert calls == ([wanted] if deleted else [])
