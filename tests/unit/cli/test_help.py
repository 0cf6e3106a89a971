import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackwright.cli.app import COMMANDS, LazyCommand, app
from stackwright.core.kubernetes.versions import NEWEST_TEXT, OLDEST_TEXT
from stackwright.local.tools import VERSIONS


def test_help_imports_no_command() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from stackwright.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "bad = [m for m in sys.modules if m.partition('.')[0] in ('rich', 'kopf', 'lightkube', 'pydantic', 'yaml')\n"
        "       or m.startswith('stackwright.local')]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_lists_existing_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    shown = [line.split(maxsplit=1) for line in result.output.splitlines()]
    assert all([name, command.help] in shown for name, command in COMMANDS.items()), "none is cut at 80 columns"
    assert "stackwright up --nodes 3" in result.output


def test_a_helper_of_the_same_name_does_not_replace_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui/status.py").touch()
    monkeypatch.setattr(sys.modules[LazyCommand.__module__], "__file__", str(tmp_path / "app.py"))
    assert LazyCommand(name="status").load().callback.__module__ == "stackwright.cli.show.status"


def test_no_text_of_a_list_of_subcommands_is_cut() -> None:
    result = CliRunner().invoke(app, ["images", "--help"], env={"COLUMNS": "80"})
    assert "verify  Show which images and charts a registry has." in result.output
    assert "..." not in result.output.partition("Commands:")[2]


def test_published_images_are_for_existing_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackwright.local.lock.exclusive", lambda cluster: pytest.fail("it begins"))
    result = CliRunner().invoke(app, ["up", "--images", "registry.example.org/stackwright"])
    assert result.exit_code == 2
    assert "--images: a local cluster uses images that are built here" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--kubernetes", "1.31"], f"'1.31' is not one of {', '.join(VERSIONS)}"),
        (
            ["--kubernetes", OLDEST_TEXT],
            f"the local cluster has Kubernetes {VERSIONS[0]}; `stackwright down",
        ),
        (
            ["--kubernetes", OLDEST_TEXT, "--kubeconfig", "FILE", "--images", "r.example/x"],
            "an existing cluster has its",
        ),
    ],
)
def test_a_version_of_kubernetes_is_for_a_new_local_cluster(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path))
    monkeypatch.setattr("stackwright.local.lock.exclusive", lambda cluster: pytest.fail("it begins"))
    (tmp_path / "nodes/node1").mkdir(parents=True)
    (tmp_path / "cluster.json").write_text('{"nodes": 1}')
    (tmp_path / "kubeconfig.yaml").touch()
    words = [str(tmp_path / "kubeconfig.yaml") if word == "FILE" else word for word in words]
    result = CliRunner().invoke(app, ["up", *words])
    assert result.exit_code == 2
    assert f"--kubernetes: {text}" in " ".join(result.output.split())


@pytest.mark.parametrize("words", [["--nodes", "3"], ["--bare"]])
def test_options_of_a_local_cluster_are_rejected_with_a_kubeconfig(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackwright.local.cluster.bringup.up", lambda *_: pytest.fail("it begins"))
    config = tmp_path / "kubeconfig.yaml"
    config.touch()
    result = CliRunner().invoke(app, ["up", *words, "--kubeconfig", str(config), "--images", "r.example/x"])
    assert result.exit_code == 2
    assert f"{words[0]}: only a local cluster has this option" in " ".join(result.output.split())


@pytest.mark.parametrize("argv", [["nonsense"], ["up", "--nodes", "0"], ["down", "--cache"]])
def test_wrong_usage_is_two(argv: list[str]) -> None:
    assert CliRunner().invoke(app, argv).exit_code == 2


def test_the_help_of_a_command_has_examples() -> None:
    result = CliRunner().invoke(app, ["up", "--help"])
    assert result.exit_code == 0
    assert "stackwright up --nodes 3" in result.output


def test_the_help_of_up_names_both_versions_of_kubernetes() -> None:
    text = " ".join(CliRunner().invoke(app, ["up", "--help"]).output.split())
    assert f"{NEWEST_TEXT} (the newest) or {OLDEST_TEXT} (the oldest supported one)" in text
