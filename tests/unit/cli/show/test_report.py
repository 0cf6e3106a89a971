"""`report` on a cluster in memory."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, EVENT, NODE, POD, SECRET
from stackwright.api.meta import Kind
from stackwright.api.secrecy import blanked
from stackwright.cli.app import app
from stackwright.cli.show import report
from stackwright.cli.show.report import bundle, is_foreign
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError, TransientError
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect

SPACE = "openstack"
CLOUD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    connect(monkeypatch, memory)
    return memory


async def no_log(_: Any) -> AsyncIterator[str]:
    for line in ():
        yield line


def running(space: str, name: str) -> dict[str, Any]:
    container = {"name": "main", "state": {"running": {}}}
    return {"metadata": {"namespace": space, "name": name}, "status": {"containerStatuses": [container]}}


class Restricted(MemoryCluster):
    """A cluster whose user may list only some kinds."""

    def __init__(self, allowed: Callable[[Kind, str], bool]) -> None:
        super().__init__()
        self.allowed = allowed

    async def list(self, kind: Kind, namespace: str = "", labels: Any = None) -> Any:
        if not self.allowed(kind, namespace):
            raise TerminalError(f"list {kind.kind}: alice lacks the RBAC permission to list {kind.plural}")
        return await super().list(kind, namespace, labels)


def reported(monkeypatch: pytest.MonkeyPatch, memory: MemoryCluster, logs: Any, path: Path) -> tuple[Any, Any]:
    """The result of the command, and the content of the report by name, without its folder."""
    connect(monkeypatch, memory)
    monkeypatch.setattr(report, "_log_reader", lambda cluster: logs)
    result = called("report", "-f", str(path))
    if not path.exists():
        return result, None
    with tarfile.open(path) as archive:
        files = {each.name.partition("/")[2]: archive.extractfile(each) for each in archive}
        return result, {name: file.read().decode() for name, file in files.items() if file}


@pytest.mark.parametrize(
    "kind", [POD, EVENT, NODE, DEPLOYMENT, OpenStackDeployment.KIND], ids=lambda kind: str(kind.kind)
)
def test_a_report_without_a_right_has_the_rest_and_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: Kind
) -> None:
    async def one_line(stream: Any) -> AsyncIterator[str]:
        yield f"of {stream.pod}"

    memory = Restricted(lambda asked, _: asked != kind)
    memory.put(POD, running("stackwright", "operator-1"))
    memory.put(POD, running(SPACE, "nova-1"))
    result, files = reported(monkeypatch, memory, one_line, tmp_path / "a.tar.gz")
    assert result.exit_code == 0, result.output
    why = f"list {kind.kind}: alice lacks the RBAC permission to list {kind.plural}"
    assert f"Missing: objects of kind {kind.kind}" in result.stderr
    assert why in result.stderr
    assert [f"Missing: {line}" for line in files["missing.txt"].splitlines()] == result.stderr.splitlines()
    listed = {name.rpartition("/")[2] for name in files}
    assert f"{kind.plural}.json" not in listed
    others = {each.plural for each in (POD, EVENT, NODE, DEPLOYMENT, OpenStackDeployment.KIND) if each != kind}
    assert {f"{plural}.json" for plural in others} <= listed
    logs = {name: text for name, text in files.items() if name.startswith("logs/")}
    if kind == POD:
        assert not logs
        assert "Missing: logs in namespace openstack: its pods could not be listed" in result.stderr
    else:
        assert logs == {
            "logs/stackwright/operator-1/main.log": "of operator-1\n",
            "logs/openstack/nova-1/main.log": "of nova-1\n",
        }


def test_a_report_by_a_user_of_one_namespace_names_what_is_missing_briefly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = Restricted(lambda _, namespace: namespace == SPACE)
    result, files = reported(monkeypatch, memory, no_log, tmp_path / "a.tar.gz")
    assert result.exit_code == 0
    assert "objects/openstack/pods.json" in files
    lines = result.stderr.splitlines()
    assert len(lines) == report.NAMED + 1 < len(files["missing.txt"].splitlines())
    assert lines[-1].endswith("more; missing.txt in the report lists all")


def test_a_log_that_ends_early_is_kept_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def broken(stream: Any) -> AsyncIterator[str]:
        if stream.pod == "operator-1":
            yield "first line"
        raise TransientError(f"{stream.pod}: the log ended")

    memory = Restricted(lambda *_: True)
    memory.put(POD, running("stackwright", "operator-1"))
    memory.put(POD, running("stackwright", "operator-2"))
    result, files = reported(monkeypatch, memory, broken, tmp_path / "a.tar.gz")
    assert result.exit_code == 0
    assert files["logs/stackwright/operator-1/main.log"] == "first line\n"
    assert "logs/stackwright/operator-2/main.log" not in files
    assert files["missing.txt"].splitlines() == [
        "rest of the log stackwright/operator-1/main: operator-1: the log ended",
        "log stackwright/operator-2/main: operator-2: the log ended",
    ]


def test_without_any_right_no_report_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, files = reported(monkeypatch, Restricted(lambda *_: False), no_log, tmp_path / "a.tar.gz")
    assert (result.exit_code, files) == (1, None)
    assert len(result.stderr.splitlines()) == 1
    assert "lacks the RBAC permission" in result.stderr


async def test_a_report_contains_no_secret(tmp_path: Path) -> None:
    memory = MemoryCluster()
    word = "s3cr3t-word"
    memory.put(SECRET, {"metadata": {"namespace": SPACE, "name": "a"}, "data": {"password": word}})
    memory.put(CONFIGMAP, {"metadata": {"namespace": SPACE, "name": "a"}, "data": {"text": word}})
    key = f"-----BEGIN PRIVATE KEY-----\n{word}\n-----END PRIVATE KEY-----"
    note = {"kubectl.kubernetes.io/last-applied-configuration": word}
    event = {"metadata": {"namespace": SPACE, "name": "e", "annotations": note}, "message": f"amqp://user:{word}@host"}
    memory.put(EVENT, event)
    spec = {**CLOUD, "common": {"openstack": {"values": {"conf": {"db_password": word, "text": key}}}}}
    memory.put(OpenStackDeployment.KIND, {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": spec})
    found = (await report.collected(memory, SPACE, no_log)).all()
    assert not [name for name, text in found.items() if word in text]
    assert "objects/openstack/openstackdeployments.json" in found
    assert "amqp://***@host" in found["objects/openstack/events.json"]
    bundle(tmp_path / "report.tar.gz", found)
    assert (tmp_path / "report.tar.gz").stat().st_mode & 0o777 == 0o600
    with tarfile.open(tmp_path / "report.tar.gz") as archive:
        assert len(archive.getnames()) == len(found)


@pytest.mark.parametrize(
    "obj",
    [
        {"customServiceConfig": "[DEFAULT]\nadmin_password = s3cr3t-word"},
        {"env": [{"name": "DB_PASSWORD", "value": "s3cr3t-word"}]},
        {"bind_pw": "s3cr3t-word"},
        {"clouds": {"transport_url": "rabbit://u:s3cr3t-word@host"}},
        {"ssl": {"api_cert": "s3cr3t-word"}},
        {"serverMetadata": [{"key": "admin_password", "value": "s3cr3t-word"}]},
        {"secrets": {"alice": {"of": ["s3cr3t-word"]}}},
        {"message": "refused: user=a password=s3cr3t-word host=b"},
        {"text": '{"password": "s3cr3t-word"}'},
        {"url": "rabbit://u:a@h1,v:s3cr3t-word@h2/"},
        {"spec": {"services": {"x": {"values": {"secret": "s3cr3t-word"}}}}},
        {"values": {"a": [{"key": "s3cr3t-word"}]}},
        {"message": "X-Auth-Token: s3cr3t-word"},
        {"url": "redis://:s3cr3t-word@h/0"},
        {"url": "mysql://u:p@s3cr3t-word@h/x"},
    ],
)
def test_blanking_finds_secrets_by_name(obj: Any) -> None:
    assert "s3cr3t-word" not in str(blanked(obj))


def test_a_password_that_is_a_number_is_blanked_too() -> None:
    obj = {"conf": {"nova": {"my_password": 12345678, "ok": 5}, "passwords": [1, 2.5], "password": None}, "config": 5}
    nova = {"my_password": "***", "ok": 5}
    assert blanked(obj) == {"conf": {"nova": nova, "passwords": ["***"] * 2, "password": None}, "config": 5}


def test_a_bundle_that_was_readable_for_all_is_not_any_more(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").touch(mode=0o644)
    bundle(tmp_path / "a.tar.gz", {"x": "y"})
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o777 == 0o600


def gzipped(name: str) -> bytes:
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return text.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"kind: OpenStackDeployment\n",
        b"\x1f\x8b",
        gzip.compress(b"a text"),
        gzip.compress(b""),
        gzipped("backup/a"),
        gzipped("stackwright-report/a")[:40],
    ],
    ids=["manifest", "two-bytes", "text", "nothing", "backup", "half"],
)
def test_a_report_replaces_no_foreign_file(cluster: MemoryCluster, tmp_path: Path, content: bytes) -> None:
    """`-f` names a manifest for other commands."""
    path = tmp_path / "cloud.yaml"
    path.write_bytes(content)
    result = called("report", "-f", str(path))
    assert result.exit_code == 1
    assert f"--file {path}: exists and is not a report" in result.stderr
    assert path.read_bytes() == content


def test_a_report_replaces_an_earlier_one_and_an_empty_file(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "_log_reader", lambda cluster: no_log)
    path, link = tmp_path / "a.tar.gz", tmp_path / "link"
    path.touch()
    link.symlink_to(path)
    for _ in range(2):
        assert called("report", "-f", str(link)).exit_code == 0
    assert not is_foreign(path)
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar.gz", "link"], "and leaves nothing beside it"


def test_masking_keeps_the_explanation() -> None:
    obj = {"status": {"conditions": [{"type": "Ready", "message": "waits"}]}, "spec": {"api_key": "k", "list": ["a"]}}
    assert blanked(obj) == {**obj, "spec": {"api_key": "***", "list": ["a"]}}
    kept = {"secretName": "a", "identityRef": {"name": "b"}, "storageClass": "c", "env": [{"name": "A", "value": "1"}]}
    assert blanked(kept) == kept
    reference = {"values": {"env": {"secretKeyRef": {"name": "a", "key": "b"}}}, "automountServiceAccountToken": False}
    assert blanked(reference) == reference
