from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from stackwright.cli import common
from stackwright.cli.cluster import connection
from stackwright.cli.cluster.connection import connected, kubeconfig
from stackwright.cli.failures import CliError, run
from stackwright.core.errors import Unreachable

CONFIG = """\
current-context: one
contexts: [{name: one, context: {cluster: one, user: me}}]
clusters: [{name: one, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {}}]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_first_existing_kubeconfig_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CliError) as caught:
        kubeconfig(None)
    for tried in ("local/kubeconfig", "home/.kube/config", "stackwright up"):
        assert tried in str(caught.value)
    default = made(home / "home/.kube/config")
    assert kubeconfig(None) == default
    local = made(home / "local/kubeconfig")
    assert kubeconfig(None) == local
    monkeypatch.setenv("KUBECONFIG", f"{home}/missing{os.pathsep}{made(home / 'env')}")
    assert kubeconfig(None) == home / "env"
    given = made(home / "given")
    assert kubeconfig(given) == given


def test_a_missing_given_file_is_an_error(home: Path) -> None:
    with pytest.raises(CliError, match="the file does not exist"):
        kubeconfig(home / "nowhere")


def test_a_variable_with_a_missing_file_selects_no_other_cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home / "local/kubeconfig")
    made(home / "home/.kube/config")
    for name in ("typo", f"typo{os.pathsep}other"):
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(f"{home}/{each}" for each in name.split(os.pathsep)))
        with pytest.raises(CliError, match=rf"\$KUBECONFIG: .*{home}/typo: the file does not exist"):
            kubeconfig(None)
    monkeypatch.setenv("KUBECONFIG", str(home))
    with pytest.raises(CliError, match="is not a file"):
        kubeconfig(None)
    monkeypatch.setenv("KUBECONFIG", os.pathsep)
    assert kubeconfig(None) == home / "local/kubeconfig"


def test_a_file_of_the_variable_that_cannot_be_read_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, fine = made(home / "sealed"), made(home / "fine")
    made(home / "home/.kube/config")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != sealed)
    for names in ([sealed], [fine, sealed], [sealed, fine], [home / "typo", sealed]):
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, names)))
        with pytest.raises(CliError, match=rf"\$KUBECONFIG: .*{sealed}: permission denied"):
            kubeconfig(None)
    with pytest.raises(CliError, match=f"--kubeconfig {sealed}: permission denied"):
        kubeconfig(sealed)


def test_an_unreadable_default_location_is_skipped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local, default, stat = made(home / "local/kubeconfig"), made(home / "home/.kube/config"), Path.stat

    def forbidden(path: Path, **more: bool) -> os.stat_result:
        if path == local:
            raise PermissionError(13, "Permission denied")
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", forbidden)
    assert kubeconfig(None) == default
    default.unlink()
    with pytest.raises(CliError, match=r"local cluster\): Permission denied"):
        kubeconfig(None)


def test_a_failure_is_a_sentence_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    async def unreachable() -> None:
        raise Unreachable("list Pod: the Kubernetes API cannot be reached: refused")

    with pytest.raises(typer.Exit) as caught:
        run(unreachable())
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == "list Pod: the Kubernetes API cannot be reached: refused\n"


@pytest.mark.parametrize("local", [True, False])
def test_only_of_the_local_cluster_the_remedy_is_to_start_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], local: bool
) -> None:
    async def work() -> None:
        async with connected(home / ("local/kubeconfig" if local else "other")):
            raise Unreachable("list Pod: the Kubernetes API cannot be reached: refused")

    for name in ("local/kubeconfig", "other"):
        made(home / name).write_text(CONFIG)
    monkeypatch.setattr(common, "given", common.Common())
    monkeypatch.setattr(connection, "is_stopped", lambda: False)
    with pytest.raises(typer.Exit):
        run(work())
    assert ("stackwright up" in capsys.readouterr().err) == local


FULL = """\
clusters: [{{name: x, cluster: {{server: "https://x"}}}}]
users: [{{name: u, user: {{{user}}}}}]
contexts: [{{name: c, context: {{cluster: x, user: u}}}}]
current-context: {context}
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("- x", "it is not a mapping"),
        ("a: b", "it lacks the list clusters"),
        ("clusters: []\ncontexts: 5", "it lacks the list contexts"),
        ("[" * 3000, "it is nested too deeply"),
        ("a: \udcff", "it is not UTF-8 text"),
        (FULL.format(user="token: 5", context="c"), "a field is missing or has a value of the wrong type"),
        (
            FULL.format(user="client-certificate-data: YQ==", context="c"),
            "a field is missing or has a value of the wrong type",
        ),
        (FULL.format(user="token: t", context="2024-01-01"), "Context '2024-01-01' not found; allowed: c"),
        ("a: [b\nc: {", "line 2, column 2: expected ',' or ']', but got ':'"),
        (
            "a: \x00",
            'unacceptable character #x0000: special characters are not allowed in "<unicode string>", position 3',
        ),
    ],
)
def test_an_error_in_a_file_is_reported_in_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    async def use() -> None:
        async with connected(home / "file"):
            pass

    (home / "file").write_text(text, errors="surrogateescape")
    monkeypatch.setattr(common, "given", common.Common())
    with pytest.raises(CliError) as caught:
        asyncio.run(use())
    assert str(caught.value) == f"{home}/file is not a usable kubeconfig: {why}"


def test_help_and_status_import_only_needed_modules() -> None:
    """These imports would slow down every command."""
    heavy = "{'kopf', 'openstack', 'pymysql', 'cryptography', 'prometheus_client'}"
    code = (
        "import sys, stackwright.cli.app as app, stackwright.cli.cluster.connection, stackwright.cli.ui.output\n"
        "assert 'pydantic' not in sys.modules and 'yaml' not in sys.modules\n"
        "import stackwright.cli.show.status, stackwright.cli.ui.resource_tree\n"
        "import stackwright.adapters.kubernetes.client\n"
        f"assert not {heavy} & sys.modules.keys(), {heavy} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_stopped_local_cluster_is_reported_without_a_request(monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "kubeconfig").write_text("not even read")
    monkeypatch.setattr(connection, "is_stopped", lambda: True)

    async def work():
        async with connection.connected(None):
            pass

    with pytest.raises(CliError, match="stopped; `stackwright up` starts it again"):
        asyncio.run(work())
