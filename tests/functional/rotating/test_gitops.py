"""The libraries of kstatus, Argo CD and Flux compute the intended state for the objects of a cloud."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import yaml

from stackwright.local.config import LocalCluster
from stackwright.local.tools import GITOPS, built
from support.kstatus import argocd, kstatus
from support.paths import ROOT
from tests.scenario.cloud_phases import CLOUD, phases

pytestmark = pytest.mark.looptime(noop_cycles=3)
SCRIPT = ROOT / "tools/gitops/health.lua"
NEVER_SEEN = {"metadata": {"generation": 1}, "spec": {}}  # of a CRD without the default of the status


def ask(objects: list[dict[str, Any]]) -> list[dict[str, str]]:
    steps = yaml.safe_load_all((ROOT / "examples/gitops/flux.yaml").read_text())
    (expressions,) = [each for step in steps for each in step["spec"].get("healthCheckExprs", ())]
    question = {"objects": objects, "lua": SCRIPT.read_text(), "expressions": expressions}
    program = built(LocalCluster.discover(), GITOPS) / "gitops"
    done = subprocess.run(program, input=json.dumps(question), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


async def test_they_agree_about_each_object_in_each_phase() -> None:
    objects = [obj for each in (await phases()).values() for obj in each]
    answers = ask(objects)
    assert {each["kstatus"] for each in answers} == {"InProgress", "Current", "Failed", "Terminating"}
    for obj, said in zip(objects, answers, strict=True):
        assert said["kstatus"] == kstatus(obj), obj
        if said["kstatus"] != "Terminating":  # Argo CD and Flux handle deletion themselves
            assert said["flux"] == said["kstatus"], obj
            assert said["argocd"] == argocd(obj), obj


def test_a_new_object_without_a_status_is_in_progress_for_argo_cd_and_flux() -> None:
    kind = {"apiVersion": CLOUD.api_version, "kind": CLOUD.kind}
    without, empty = ask([{**kind, **NEVER_SEEN, "status": {}}, {**kind, **NEVER_SEEN, "status": {"conditions": []}}])
    assert (without["argocd"], without["flux"]) == ("Progressing", "InProgress")
    assert (empty["argocd"], empty["flux"]) == ("Progressing", "InProgress")
    assert without["kstatus"] == "Current", "the reason for the default of the status"
