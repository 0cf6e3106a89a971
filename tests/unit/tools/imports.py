"""Which files of the repository a Python file reads: those that it imports, and those that its texts name."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from support.paths import ROOT

DYNAMIC = "a dynamic import"
LOADERS = {"importlib", "imp", "pkgutil", "runpy", "zipimport", "__import__", "import_module", "importorskip", "exec"}
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
PLACES = [f"{place}/".removeprefix("./") for place in OPTIONS["pythonpath"]]
"""The folders of modules, with a slash at the end; empty for the repository."""
FOLLOWED = ("tests/", "tools/", "bench/")


def names(path: str, tree: ast.AST) -> Iterator[str]:
    """Dotted names that may be modules, absolute or from PLACES. `from a import b` may import the module a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        if isinstance(node, ast.ImportFrom):
            above = Path(path).parts[: -node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            yield from [module, *(".".join(filter(None, [module, each.name])) for each in node.names)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in re.findall(r"\w+(?:\.\w+)+", node.value):
                module = name.rpartition(".")[0]  # of an attribute, as monkeypatch takes it
                yield from [name, module] if "." in module else [name]


def paths(tree: ast.AST) -> Iterator[str]:
    """Existing files and folders that texts name; a folder has a slash at the end."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in re.findall(r"\w+(?:[./]\w+)+", node.value):
                place = ROOT / name
                if place.exists():
                    yield f"{name}/" if place.is_dir() else name


def is_dynamic(tree: ast.AST) -> bool:
    """Whether it imports modules whose names are known only when it runs."""
    for node in ast.walk(tree):
        found = {each.name for each in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
        found |= {node.module} if isinstance(node, ast.ImportFrom) and node.module else set()
        found |= {node.id} if isinstance(node, ast.Name) else set()
        found |= {node.attr} if isinstance(node, ast.Attribute) else set()
        if {name.partition(".")[0] for name in found} & LOADERS:
            return True
    return False


def files(name: str) -> Iterator[str]:
    """The file of a module and of its package, or a folder, with a slash at the end."""
    below = name.replace(".", "/")
    for place in PLACES:
        found = (f"{place}{below}{end}" for end in (".py", "/__init__.py"))
        yield from (path for path in found if (ROOT / path).is_file())
        if (ROOT / place / below).is_dir():
            yield f"{place}{below}/"


@cache
def read_by(path: str) -> frozenset[str]:
    """Files and folders of the repository that a file reads, and DYNAMIC."""
    return reads(path, (ROOT / path).read_text())


def reads(path: str, text: str) -> frozenset[str]:
    tree = ast.parse(text)
    found = {file for name in names(path, tree) for file in files(name)} | {*paths(tree)}
    return frozenset(found | {DYNAMIC} if is_dynamic(tree) else found)


def forbidden(start: Iterable[str], unread: tuple[str, ...], own: tuple[str, ...] = ()) -> set[str]:
    """What of `unread` files read, also through others, except what begins with `own`. `file reads other`."""
    waiting, seen, found = list(start), set[str](), set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for other in read_by(path):
            if other == DYNAMIC or (other.startswith(unread) and not other.startswith(own)):
                found.add(f"{path} reads {other}")
            elif other.startswith(FOLLOWED) and other.endswith(".py"):
                waiting.append(other)
    return found
