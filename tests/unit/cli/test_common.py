"""The options that every command has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import POD
from stackwright.cli import common
from stackwright.cli.app import COMMANDS, app
from stackwright.cli.ui.progress import progress

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: one, user: me}}
- {name: two, context: {cluster: two, user: me}}
clusters:
- {name: one, cluster: {server: "http://127.0.0.1:1"}}
- {name: two, cluster: {server: "http://127.0.0.1:2"}}
users:
- {name: me, user: {}}
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    common.given = common.Common()


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_command_can_be_quiet_and_verbose(name: str) -> None:
    words = {"images": ("images", "list")}.get(name, (name,))
    text = called(*words, "--help").stdout
    assert "-q, --quiet" in text
    assert "-v, --verbose" in text
    assert ("--context" in text) == ("--kubeconfig FILE" in text and name not in common.OWN_CLUSTER), name


@pytest.mark.parametrize(
    "words",
    [
        ["crds", "--dir", ""],
        ["crds", "--dir="],
        ["plan", "-f", "cloud.yaml", "-f", ""],
        ["apply", "-f", ""],
        ["up", "--file", ""],
        ["report", "--file", ""],
        ["smoke", "--junit", ""],
        ["openrc", "--ca-file", ""],
        ["images", "list", "-o", ""],
        ["status", "--kubeconfig", ""],
        ["status", "--context", ""],
        ["delete", "cloud", "--namespace", ""],
        ["delete", ""],
        ["restart", ""],
        ["logs", ""],
    ],
)
def test_an_empty_value_of_an_option_or_argument_is_refused(
    kubeconfig: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`stackwright crds --dir "$DIR"` without a value of the variable wrote into the current directory."""
    (here := kubeconfig.parent / "here").mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    result = called(*words)
    assert result.exit_code == (1 if words[0] == "plan" else 2)
    assert result.stderr.splitlines()[-1].endswith(": must not be empty")
    assert not list(here.iterdir())


def test_an_option_whose_default_is_empty_takes_an_empty_value(kubeconfig: Path) -> None:
    result = called("smoke", "--checks", "", "--kubeconfig", str(kubeconfig))
    assert result.exit_code == 1
    assert "cannot be reached" in result.stderr


def test_the_context_is_that_of_the_command_line(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    real = KubernetesCluster.from_file

    def from_file(path: str, context: str | None, *more: Any, **options: Any) -> KubernetesCluster:
        asked.append(context)
        return real(path, context, *more, **options)

    monkeypatch.setattr(KubernetesCluster, "from_file", from_file)
    for words in (["--context", "two"], []):
        assert called("status", "--kubeconfig", str(kubeconfig), *words).exit_code == 1  # no server listens there
    assert asked == ["two", None]
    result = called("status", "--kubeconfig", str(kubeconfig), "--context", "three")
    assert result.exit_code == 1
    assert "Context 'three' not found; allowed: one, two\n" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("current", "words", "told"),
    [
        ("one", ["--context", "twoo"], "Context 'twoo' not found; did you mean two? allowed: one, two"),
        ("gone", [], "Context 'gone' not found; did you mean one? allowed: one, two"),
        ("''", [], "it has no current context; allowed: one, two"),
        ("", [], "it has no current context; allowed: one, two"),
    ],
)
def test_an_unknown_context_is_reported_with_the_known_ones(
    kubeconfig: Path, current: str, words: list[str], told: str
) -> None:
    kubeconfig.write_text(KUBECONFIG.replace("current-context: one", f"current-context: {current}"))
    result = called("status", "--kubeconfig", str(kubeconfig), *words)
    assert result.exit_code == 1
    assert result.stderr == f"{kubeconfig} is not a usable kubeconfig: {told}\n"


def test_an_api_server_that_cannot_be_reached_is_named_with_the_context(kubeconfig: Path) -> None:
    kubeconfig.write_text(
        KUBECONFIG.replace("127.0.0.1:2", "user:hush@127.0.0.1:2/k8s?token=hush").replace(
            "user: {}", "user: {token: hush}"
        )
    )
    for words, where in (([], "http://127.0.0.1:1 (context one)"), (["two"], "http://127.0.0.1:2/k8s (context two)")):
        chosen = ["--context", *words] if words else []
        result = called("history", "--kubeconfig", str(kubeconfig), *chosen)
        assert result.exit_code == 1
        assert f"the Kubernetes API cannot be reached at {where}: " in result.stderr
        assert "hush" not in result.stderr


def test_a_context_that_only_kubectls_merge_would_find_is_explained(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_text(KUBECONFIG.replace("name: two", "name: three"))
    monkeypatch.setenv("KUBECONFIG", f"{kubeconfig}{os.pathsep}{tmp_path}/none{os.pathsep}{other}")
    result = called("status", "--context", "three")
    assert result.exit_code == 1
    assert "Context 'three' not found" in result.stderr
    assert f"Only the first file of $KUBECONFIG is used, not {other}." in result.stderr
    named = called("status", "--kubeconfig", str(kubeconfig), "--context", "three")
    assert "Only the first file" not in named.stderr


def test_verbose_shows_each_request_and_the_source_of_an_error(kubeconfig: Path) -> None:
    words = ("history", "--kubeconfig", str(kubeconfig))
    assert "→" not in called(*words).stderr
    told = called(*words, "-v").stderr
    assert "→ list Secret" in told
    assert "Traceback" in told


def test_quiet_shows_no_progress_and_keeps_results(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet, shown in ((False, True), (True, False)):
        common.given = common.Common(quiet=quiet)
        common.say("applied")
        with progress()("A step") as report:
            report("a detail")
        assert (capsys.readouterr().out != "") is shown


def test_verbose_shows_each_detail_of_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (False, True):
        common.given = common.Common(verbose=verbose)
        with progress()("A step") as report:
            report("a detail")
        assert ("a detail" in capsys.readouterr().out) is verbose


def test_a_logged_request_has_its_verb_and_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert common.on_call() is None
    common.given = common.Common(verbose=True)
    tell = common.on_call()
    assert tell is not None
    tell("get", POD)
    assert capsys.readouterr().err == "→ get Pod\n"


@pytest.mark.parametrize(
    ("terminal", "variable", "expected"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_output_is_coloured_on_a_terminal_without_no_color(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, variable: str, expected: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("NO_COLOR", variable)
    assert common.coloured() is expected


def test_only_one_function_decides_about_colours() -> None:
    """`typer.style` and `colour=` elsewhere get its answer."""
    folder = Path(common.__file__).parent
    assert not [path for path in folder.rglob("*.py") if "colour=sys" in path.read_text().replace(" ", "")]
