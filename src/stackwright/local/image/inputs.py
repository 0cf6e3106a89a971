"""Inputs of an image besides its base: their paths, their digests, and their staging for buildah.

A build does not run in the project's own folders: its context is staged in a temporary folder, with tools and sources
under the names in the recipe. So a build has exactly the inputs that its digest covers.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
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
    """Return the folder that pins a tool. Its digest replaces that of the binary, so the tool need not be built."""
    return require(f"tools/{name}")


def source_path(source: Source) -> Path:
    return PACKAGE if source == "package" else require(source)


def tree_digest(root: Path) -> str:
    """Return the digest of a file, or of the names, contents and execute bits of a folder's files.

    Links are followed, because a wheel has copies instead of links.
    """
    digest = hashlib.sha256()
    for path in files(root):
        executable = "x" if path.stat().st_mode & 0o100 else "-"
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root.parent)}\0{executable}\0{content}\n".encode())
    return digest.hexdigest()


def files(root: Path) -> list[Path]:
    """Return the files of a tree that are part of images, also those behind its links."""
    if not root.is_dir():
        return [root]
    found = []
    ignore = _ignored(root)
    for folder, folders, names in os.walk(root, followlinks=True):
        ignored = ignore(folder, [*folders, *names])
        folders[:] = [name for name in folders if name not in ignored]
        found += [Path(folder, name) for name in names if name not in ignored]
    return sorted(found)


def _ignored(root: Path) -> Callable[[str, list[str]], set[str]]:
    """Return a filter for `copytree`: IGNORED, and links that are broken, circular, or point out of the tree."""
    tree = root.resolve()

    def leads_into_tree(link: Path) -> bool:
        if not link.exists():
            return False
        target = link.resolve()
        return tree in target.parents and target not in map(Path.resolve, link.parents)

    def ignored(folder: str, names: list[str]) -> set[str]:
        links = (name for name in names if Path(folder, name).is_symlink())
        return IGNORED(folder, names) | {name for name in links if not leads_into_tree(Path(folder, name))}

    return ignored


def stage(context: Path, target: Path, sources: dict[str, Source]) -> None:
    """Copy a context folder and the sources of the recipe to `target`, with copies instead of links."""
    shutil.copytree(context, target, ignore=_ignored(context))
    for name, source in sources.items():
        path = source_path(source)
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=_ignored(path))
        else:
            shutil.copyfile(path, target / name)


def stage_tool(name: str, context: Path, cluster: LocalCluster) -> None:
    """Copy a binary of a tool into the context; build the tool if necessary.

    After Ctrl-C, the step that builds all tools may have ended: its build is not repeated here.
    """
    binary = tools.binary(name, cluster)
    if not binary.exists():
        module = next(tool for tool in tools.TOOLS if name in tool.names())
        tools.build(cluster, module, tools.find_go(cluster), quiet, again=False)
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
