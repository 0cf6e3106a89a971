"""The folders of the local cluster, and checks that distinguish them from other folders, which must not be deleted.

A variable may be mistyped: `STACKWRIGHT_HOME=/srv`. So a folder is deleted only if it has a mark of `up`, and only the
content that `up` creates.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster

BUILT = re.compile(r"\.?[a-z0-9-]+(-[0-9a-f]{12}|\.lock)")


@dataclass(frozen=True)
class Folder:
    """what      description for users
    variable  the environment variable that selects it
    names     of its content, the marks last, so that an interrupted deletion can continue
    marked    whether a folder has a mark of `up`
    """

    what: str
    path: Path
    variable: str
    names: tuple[str, ...]
    marked: Callable[[Path], bool]

    def entries(self) -> list[Path]:
        """Entries of the folder. Empty if it does not exist or is no folder."""
        return sorted(self.path.iterdir()) if self.path.is_dir() else []

    def others(self, but: Iterable[Path] = ()) -> list[Path]:
        """Content that is not ours, without the folders above it."""
        known = {*self.names, *(f"{name}.new" for name in self.names), "lost+found"}
        kept = [each for each in self.entries() if each.name not in known]
        return [each for each in kept if not any(path.is_relative_to(each) for path in but)]

    def is_ours(self) -> bool:
        return self.marked(self.path)

    def check(self) -> None:
        """Raises LocalError for a folder that has content but no mark."""
        if (there := self.entries()) and not self.is_ours():
            some = ", ".join(each.name for each in there[:5]) + (" …" if len(there) > 5 else "")
            raise LocalError(
                f"{self.path} was not deleted, because nothing identifies it as the folder of a local cluster; "
                f"it contains: {some}.\n"
                f"Check {self.variable}. If the folder is not needed, delete it by hand."
            )

    def remove(self) -> list[Path]:
        """Deletes our content, and the folder if it is empty then; returns the remaining content of others."""
        for name in self.names:
            for each in (self.path / f"{name}.new", self.path / name):
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each, ignore_errors=True)
                else:
                    each.unlink(missing_ok=True)
                if each.exists():
                    raise LocalError(f"{each} could not be deleted completely; check the remaining files.")
        if not self.entries():
            with suppress(OSError):  # a link or a mount point
                self.path.rmdir()
        return self.others()


def _is_home(path: Path) -> bool:
    try:
        remembered = "nodes" in json.loads((path / "cluster.json").read_bytes())
    except (OSError, ValueError, TypeError):
        remembered = False
    return remembered or any((path / "pki").glob("*.inputs"))


def _is_cache(path: Path) -> bool:
    built = (each.name for part in ("tools", "images") for each in (path / part).glob("*"))
    return any(BUILT.fullmatch(name) for name in built)


def home(cluster: LocalCluster) -> Folder:
    marks = ("kubeconfig", "pki", "cluster.json")
    names = ("nodes", "volumes", "etcd", "config", "log", "ssh", "demo.json", "ca.crt", *marks)
    return Folder("the local cluster with all its data", cluster.state, "STACKWRIGHT_HOME", names, _is_home)


def cache(cluster: LocalCluster) -> Folder:
    names = ("store", "guest", "helm", "go", "buildah", "images", "tools")
    return Folder("built tools and images", cluster.cache, "STACKWRIGHT_CACHE", names, _is_cache)
