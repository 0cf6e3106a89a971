"""The file system of local volumes: creation, removal, and rejected requests."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from stackwright.adapters.directories import LocalDirectories
from stackwright.core.errors import TerminalError, TransientError

UID = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "volumes"
    made.mkdir()
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_make_sets_the_mode_for_owner_and_group_with_any_umask(root: Path) -> None:
    before = os.umask(0o077)
    try:
        await LocalDirectories(str(root)).make(f"{root}/{UID}")
    finally:
        os.umask(before)
    assert mode(root / UID) == 0o770


async def test_make_keeps_existing_content(root: Path) -> None:
    (root / UID).mkdir()
    (root / UID / "data").write_text("kept")
    (root / UID).chmod(0o2770)
    await LocalDirectories(str(root)).make(f"{root}/{UID}")
    assert mode(root / UID) == 0o2770
    assert (root / UID / "data").read_text() == "kept"


async def test_make_completes_the_remains_of_a_crash(root: Path) -> None:
    (root / UID).mkdir(mode=0o700)
    await LocalDirectories(str(root)).make(f"{root}/{UID}")
    assert mode(root / UID) == 0o770


async def test_remove_deletes_all_content_and_nothing_else(root: Path) -> None:
    (root / UID / "a" / "b").mkdir(parents=True)
    (root / UID / "a" / "file").write_text("x")
    (root / OTHER).mkdir()
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (root / UID / "link").symlink_to(outside)
    directories = LocalDirectories(str(root))
    await directories.remove(f"{root}/{UID}")
    await directories.remove(f"{root}/{UID}")
    assert not (root / UID).exists()
    assert (root / OTHER).is_dir()
    assert (outside / "precious").exists()
    assert not await directories.holds(f"{root}/{UID}")
    assert await directories.holds(f"{root}/{OTHER}")


@pytest.mark.parametrize(
    "path", ["/etc", "{root}", "{root}/..", "{root}/name", "{root}/../" + UID, "{root}/" + UID + "/a", "/" + UID]
)
async def test_a_path_elsewhere_is_refused(root: Path, path: str) -> None:
    directories = LocalDirectories(str(root))
    for call in (directories.make, directories.remove, directories.holds):
        with pytest.raises(TerminalError):
            await call(path.format(root=root))


async def test_a_link_or_a_file_in_its_place_is_not_changed(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (root / UID).symlink_to(outside)
    (root / OTHER).write_text("x")
    directories = LocalDirectories(str(root))
    for name in (UID, OTHER):
        assert not await directories.holds(f"{root}/{name}")
        for call in (directories.make, directories.remove):
            with pytest.raises(TerminalError, match="not a directory"):
                await call(f"{root}/{name}")
    assert (outside / "precious").exists()


async def test_a_missing_root_causes_a_wait(root: Path) -> None:
    root.rmdir()
    directories = LocalDirectories(str(root))
    for call in (directories.make, directories.remove, directories.holds):
        with pytest.raises(TransientError, match="No such file"):
            await call(f"{root}/{UID}")
