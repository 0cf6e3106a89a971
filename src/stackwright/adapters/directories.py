"""Directories for volumes on this node, all directly below one root.

A directory is opened relative to a handle of the root, never by its path: a name that is not the uid of a claim is
refused, and so is a symbolic link. Blocking calls run in threads.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import PurePosixPath

from stackwright.adapters.threads import in_thread
from stackwright.core.errors import TerminalError, TransientError

NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# kubelet sets the group of a directory to the pod's fsGroup; other users have no access.
MODE, UNFINISHED = 0o770, 0o700


class LocalDirectories:
    """core.ports.Directories on the file system."""

    def __init__(self, root: str) -> None:
        self._root = PurePosixPath(root)

    async def make(self, path: str) -> None:
        await in_thread(self._make, self._name(path))

    async def remove(self, path: str) -> None:
        await in_thread(self._remove, self._name(path))

    async def holds(self, path: str) -> bool:
        return await in_thread(self._holds, self._name(path))

    def _name(self, path: str) -> str:
        """The last part of a path. Raises TerminalError if the path is not that of a volume."""
        pure = PurePosixPath(path)
        if pure.parent != self._root or not NAME.fullmatch(pure.name):
            raise TerminalError(f"{path} is not the directory of a volume in {self._root}")
        return pure.name

    @contextlib.contextmanager
    def _handle(self, doing: str, name: str) -> Iterator[int]:
        """An open handle of the root; any OSError becomes TransientError, as most of them pass or are fixed by an
        admin.
        """
        try:
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield root
            finally:
                os.close(root)
        except OSError as error:
            raise TransientError(f"cannot {doing} {self._root / name}: {error.strerror or error}") from error

    def _make(self, name: str) -> None:
        with self._handle("make", name) as root:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, UNFINISHED, dir_fd=root)
            if not _is_directory(root, name):
                raise TerminalError(f"{self._root / name} exists and is not a directory")
            directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
            try:
                # A directory whose group kubelet has set keeps its mode.
                if stat.S_IMODE(os.fstat(directory).st_mode) == UNFINISHED:
                    os.fchmod(directory, MODE)
                os.fsync(directory)
            finally:
                os.close(directory)
            # Otherwise a power failure could leave a volume in the API without its directory.
            os.fsync(root)

    def _remove(self, name: str) -> None:
        with self._handle("remove", name) as root:
            if _exists(root, name):
                if not _is_directory(root, name):
                    raise TerminalError(f"{self._root / name} is not a directory, so it was not changed")
                shutil.rmtree(name, dir_fd=root)
            os.fsync(root)

    def _holds(self, name: str) -> bool:
        with self._handle("look at", name) as root:
            return _exists(root, name) and _is_directory(root, name)


def _exists(root: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_directory(root: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode)
