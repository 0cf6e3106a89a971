"""The results of `make dist`: the program of the wheel works without the checkout, and gives the same images, CRDs,
values and plans. It is a plug-in of kubectl, and has manual pages.

Nothing is downloaded. The wheel is installed in its own virtual environment; its dependencies are those of the tests.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
import release
import yaml

from stackwright.local import tools
from support.paths import ROOT

CLOUD = ROOT / "examples/cloud.yaml"
# A plan of an empty cluster, by the program's own command.
PLAN = """
import contextlib
from stackwright.api.kinds import NODE
from stackwright.cli import app
from stackwright.cli.cluster import connection
from stackwright.runtime.memory import MemoryCluster

labels = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")
memory = MemoryCluster()
memory.put(NODE, {"metadata": {"name": "node1", "labels": dict.fromkeys(labels, "enabled")}})
connection.connected = lambda *_: contextlib.nullcontext(memory)
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

    def call(*words: str | Path, script: str = "", code: int = 0, program: str | Path = "stackwright") -> str:
        start = [python, "-c", script] if script else [python.parent / program]
        env = {**cleared, **places, **environment, "PATH": f"{python.parent}:{os.environ['PATH']}"}
        done = subprocess.run([*start, *words], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released") / "dist"
    release.build(folder, "https://example.org/0.1/")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, built: Path) -> Path:
    """The environment with the wheel."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, symlinks=True)
    _pip("--python", place / "bin/python", "install", "--no-compile", *built.glob("*.whl"))
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # its .pth files have no effect
    return place


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, place: Path) -> Program:
    return _program(place / "bin/python", tmp_path_factory.mktemp("empty"))


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
    """Otherwise the one program would upgrade releases of the other, and rebuild its tools."""
    assert installed(script=DIGESTS) == checkout(script=DIGESTS)


def test_the_same_checkout_gives_the_same_release(built: Path, tmp_path: Path) -> None:
    """The same also for a later build, into a folder with results of an earlier one."""
    (again := tmp_path / "dist").mkdir()
    (again / "old.whl").touch()
    release.build(again, "https://example.org/0.1")

    def content(folder: Path) -> dict[str, str]:
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    found = content(built)
    assert content(again) == found
    sums = (line.split("  ") for line in (built / "SHA256SUMS").read_text().splitlines())
    assert {path: digest for digest, path in sums} == {k: v for k, v in found.items() if k != "SHA256SUMS"}


def test_krew_finds_the_plugin_in_its_archive(built: Path) -> None:
    (platform,) = yaml.safe_load((built / "stackwright.yaml").read_text())["spec"]["platforms"]
    archive = built / platform["uri"].removeprefix("https://example.org/0.1/")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    with tarfile.open(archive) as opened:
        files = {each.name: each for each in opened}
        (wheel,) = built.glob("*.whl")
        assert files.keys() == {platform["bin"], wheel.name, "constraints.txt", "LICENSE"}
        assert files[platform["bin"]].mode == 0o755
        assert opened.extractfile(wheel.name).read() == wheel.read_bytes()  # type: ignore[union-attr]


def test_one_file_has_all_definitions(built: Path, checkout: Program) -> None:
    assert (built / "stackwright-crds.yaml").read_text() == checkout("crds")


def test_man_finds_the_pages_of_the_wheel(built: Path, place: Path) -> None:
    pages = {path.name: path.read_text() for path in (ROOT / "docs/man").glob("*.1")}
    assert len(pages) > 30
    for folder in (place / "share/man/man1", built / "share/man/man1"):
        assert {path.name: path.read_text() for path in folder.iterdir()} == pages


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("stackwright", "status", "--help"), "Usage: kubectl stackwright status [OPTIONS]"),
        (("stackwright", "crds", "-o", "json"), '"kind": "List"'),
        (("__complete", "stackwright", "restar"), "restart\tRestart the pods of a service"),
        (("__complete", "stackwright", "values", "placem"), "placement\n"),
        (("__complete", "stackwright", "apply", "-f", "clou"), ":0\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_kubectl_calls_and_completes_its_plugin(installed: Program, words: tuple[str, ...], part: str) -> None:
    assert part in installed(*words, program=tools.binary("kubectl"))
