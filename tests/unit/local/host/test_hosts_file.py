from __future__ import annotations

from pathlib import Path

import pytest

from stackwright.local.config import LocalCluster
from stackwright.local.host import hosts_file
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import cloud, hosts

LINES = ["10.89.0.11 keystone.cloud.example"]
OTHERS = b"127.0.0.1 localhost\r\n# caf\xe9\n::1 ip6\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hosts"
    path.write_bytes(OTHERS)
    path.chmod(0o640)
    return path


def test_the_block_is_added_and_removed_without_other_changes(file: Path) -> None:
    hosts_file.write(LINES, file)
    assert hosts_file.has_block(file)
    assert file.read_bytes().startswith(OTHERS)
    assert file.stat().st_mode & 0o777 == 0o640
    hosts_file.remove(file)
    assert file.read_bytes() == OTHERS
    assert [path.name for path in file.parent.iterdir()] == ["hosts"]


def test_a_current_file_is_not_rewritten(file: Path) -> None:
    hosts_file.write(LINES, file)
    before = file.stat()
    hosts_file.write(LINES, file)
    assert hosts_file.is_current(LINES, file)
    assert file.stat().st_ino == before.st_ino
    assert not hosts_file.is_current([], file)


def test_a_changed_block_keeps_its_position() -> None:
    text = hosts_file.with_block("a\n", LINES) + "b\n"
    changed = hosts_file.with_block(text, ["10.89.0.11 nova.other.example"])
    assert changed.startswith("a\n")
    assert changed.endswith("b\n")
    assert "keystone" not in changed
    assert changed.count(hosts_file.BEGIN) == 1


def test_a_damaged_block_is_removed_without_foreign_lines() -> None:
    cut = f"{hosts_file.BEGIN}\n{LINES[0]}\n127.0.0.1 localhost\n"
    assert hosts_file.with_block(cut, []) == "127.0.0.1 localhost\n"
    block = hosts_file.with_block("", LINES)
    assert hosts_file.with_block(f"{block}a\n{block}", LINES) == f"{block}a\n"


def test_a_last_line_without_an_end_is_not_joined_with_ours() -> None:
    assert hosts_file.with_block("127.0.0.1 localhost", LINES).startswith("127.0.0.1 localhost\n# stackwright")


def test_a_file_that_cannot_be_replaced_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(self: Path, target: Path) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    hosts_file.write(LINES, file)
    assert hosts_file.is_current(LINES, file)
    assert [path.name for path in file.parent.iterdir()] == ["hosts"]


def test_each_domain_has_all_public_services(monkeypatch: pytest.MonkeyPatch) -> None:
    domains = ("b.example", "a.example", "a.example")
    monkeypatch.setattr(cloud, "clouds", lambda ctx: [{"spec": {"public_domain_name": d}} for d in domains])
    first, second = hosts.lines(Context(LocalCluster(Path("/s"), Path("/c"))))
    assert first.split()[:3] == ["10.89.0.11", "keystone.a.example", "object-store.a.example"]
    assert second.split()[-1] == "horizon.b.example"
