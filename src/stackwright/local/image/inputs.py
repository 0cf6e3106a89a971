"""Inputs of an image besides its base: their paths, their digests, and their staging for buildah.

A build does not run in the project's own folders: its context is staged in a temporary folder, with tools and sources
under the names in the recipe. So a build sees exactly what its digest covers.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Literal

from stackwright.assets import require
from stackwright.local import tools
from stackwright.local.commands import quiet, run
from stackwright.local.config import LocalCluster

Source = Literal["package", "charts", "requirements.lock"]
Loan = Literal["pip"]

PACKAGE = Path(__file__).resolve().parents[2]
RECIPE = "recipe.yaml"
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", ".*.swp", "*~", ".git", "_assets", RECIPE)
"""Not part of any image or digest. `_assets` are the copies in a wheel, which are sources of their own. A recipe is
part of a digest as data, without its comments.
"""


def images_folder() -> Path:
    return require("images")


def tool_folder(name: str) -> Path:
    """Return the folder that pins a tool; its digest stands for the binary's, which need not be built for it."""
    return require(f"tools/{name}")


def source_path(source: Source) -> Path:
    return PACKAGE if source == "package" else require(source)


def tree_digest(root: Path) -> str:
    """Return the digest of a file, or of the names, contents and execute bits of a folder's files."""
    digest = hashlib.sha256()
    for path in _files(root):
        info = path.lstat()
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        executable = "x" if info.st_mode & 0o100 and not path.is_symlink() else "-"
        name = path.relative_to(root.parent)
        digest.update(f"{name}\0{executable}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _files(root: Path) -> list[Path]:
    if not root.is_dir():
        return [root]
    found = []
    for folder, folders, names in os.walk(root):
        kept = [*folders, *names]
        ignored = IGNORED(folder, kept)
        folders[:] = [name for name in folders if name not in ignored]
        found += [Path(folder, name) for name in names if name not in ignored]
    return sorted(found)


def stage(context: Path, target: Path, sources: dict[str, Source]) -> None:
    """Copy a context folder and the sources of the recipe to `target`."""
    shutil.copytree(context, target, ignore=IGNORED, symlinks=True)
    for name, source in sources.items():
        path = source_path(source)
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=IGNORED, symlinks=True)
        else:
            shutil.copyfile(path, target / name)


def stage_tool(name: str, context: Path, cluster: LocalCluster) -> None:
    """Copy a binary of a tool into the context; build the tool if necessary."""
    binary = tools.binary(name, cluster)
    if not binary.exists():
        module = next(tool for tool in tools.TOOLS if name in tool.names())
        tools.build(cluster, module, tools.find_go(cluster), quiet)
    (context / "bin").mkdir(exist_ok=True)
    shutil.copy(binary, context / "bin" / name)


def stage_go_program(name: str, context: Path, cluster: LocalCluster) -> None:
    """Compile the context's Go program; without dependencies, this takes seconds and no network."""
    environment = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    command: list[str | Path] = [
        tools.find_go(cluster),
        "build",
        "-trimpath",
        "-ldflags",
        "-s -w -buildid=",
        "-o",
        f"bin/{name}",
        ".",
    ]
    run(command, cwd=context, env=environment, limit=600)
