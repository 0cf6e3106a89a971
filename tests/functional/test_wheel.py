"""The program that the wheel installs works without the checkout, and equals it: names of images, CRDs, values, plans.

Nothing is downloaded. The wheel is installed in its own virtual environment; its dependencies are those of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import ROOT

CLOUD = ROOT / "examples/cloud.yaml"
# A plan of an empty cluster, by the program's own command.
PLAN = """
import contextlib
from stackwright.api.kinds import NODE
from stackwright.cli import app, cluster
from stackwright.runtime.memory import MemoryCluster

labels = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")
memory = MemoryCluster()
memory.put(NODE, {"metadata": {"name": "node1", "labels": dict.fromkeys(labels, "enabled")}})
cluster.connected = lambda *_: contextlib.nullcontext(memory)
app.main()
"""
DIGESTS = """
from stackwright.adapters.helm.command import chart_digests
from stackwright.local import tools

print(chart_digests(), {tool.module: tools.digest(tool) for tool in tools.TOOLS})
"""
PLACE = "import stackwright; print(stackwright.__file__)"

Program = Callable[..., str]


def _pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", *map(str, words), "--quiet", "--no-index", "--no-deps"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _program(python: Path, folder: Path, **environment: str) -> Program:
    """Call `stackwright` of an environment, or a script with its Python, in an empty folder without a local cluster."""
    cleared = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "KUBECONFIG")}
    places = {f"STACKWRIGHT_{name}": str(folder / name) for name in ("CACHE", "HOME")}

    def call(*words: str | Path, script: str = "", code: int = 0) -> str:
        start = [python, "-c", script] if script else [python.with_name("stackwright")]
        env = {**cleared, **places, **environment}
        done = subprocess.run([*start, *words], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Program:
    built, place = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    _pip("wheel", "--no-build-isolation", "--check-build-dependencies", "--wheel-dir", built, ROOT)
    venv.create(place, symlinks=True)
    python = place / "bin/python"
    _pip("--python", python, "install", "--no-compile", *built.glob("*.whl"))
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # its own .pth files have no effect
    return _program(python, tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return _program(Path(sys.executable), tmp_path_factory.mktemp("empty"), PYTHONPATH=str(ROOT / "src"))


def test_the_two_programs_are_not_one(installed: Program, checkout: Program) -> None:
    assert checkout(script=PLACE).startswith(f"{ROOT}/src/")
    assert f"{ROOT}/" not in installed(script=PLACE)


@pytest.mark.parametrize(
    "words",
    [
        ("images", "list", "-o", "json"),
        ("crds",),
        ("values", "nova", "-f", CLOUD),
    ],
    ids=lambda words: words[0],
)
def test_the_output_is_the_same(installed: Program, checkout: Program, words: tuple[str | Path, ...]) -> None:
    output = installed(*words)
    assert output.count("\n") > 50
    assert output == checkout(*words)


def test_the_plan_is_the_same(installed: Program, checkout: Program) -> None:
    words = ("plan", "-f", CLOUD, "--full", "-o", "json")
    plan = installed(*words, script=PLAN, code=2)
    assert "HelmBundle" in plan
    assert plan == checkout(*words, script=PLAN, code=2)


def test_releases_and_tools_are_the_same(installed: Program, checkout: Program) -> None:
    """Otherwise the one would upgrade what the other installed, and build what the other built."""
    assert installed(script=DIGESTS) == checkout(script=DIGESTS)
