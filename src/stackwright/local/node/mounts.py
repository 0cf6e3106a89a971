"""What makes a mount namespace a node's: run inside it, once, by `local/node/namespaces.py`.

It stands alone (standard library only, `python -I -S`), reads a plan as JSON from standard input, and calls mount(2)
itself: sources are named by open directories, because a place may lie below one that is replaced before.
"""

import ctypes
import json
import os
import pathlib
import sys

BIND, RECURSIVE, SHARED, NOSUID, NODEV, DETACH = 0x1000, 0x4000, 1 << 20, 2, 4, 2
C = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [word.encode() for word in (source, target, kind)]
    if C.mount(*words, ctypes.c_ulong(flags), options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {source} on {target}: {os.strerror(number)}")


def bind(source: int, target: str) -> None:
    mount(f"/proc/self/fd/{source}", target, flags=BIND | RECURSIVE)


def opened(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def forget(places: list[str]) -> None:
    """Copies of mounts would keep alive what the machine, or another node, gives up. Later ones lie on earlier ones."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    targets = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    for target in reversed(targets):
        if any(target == place or target.startswith(f"{place}/") for place in places):
            C.umount2(target.encode(), DETACH)


def replace(own: dict[str, str], kept: list[str], files: dict[str, str]) -> None:
    """Put the node's directories (a tmpfs where none is named) in place of the machine's, but do not lose `kept`."""
    sources = {place: opened(source) if source else None for place, source in own.items()}
    there = {path: opened(path) for path in kept}
    contents = {path: opened(source) for path, source in files.items()}
    for place, source in sources.items():
        if source is None:
            mount("node", place, "tmpfs", NOSUID | NODEV, "mode=755,size=20%")
        else:
            bind(source, place)
    for path, source in there.items():
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
        bind(source, path)
    for path, source in contents.items():
        bind(source, path)


def main() -> None:
    plan = json.load(sys.stdin)
    pathlib.Path("/proc/sys/kernel/hostname").write_text(plan["hostname"])
    forget(plan["forgotten"])
    replace(plan["own"], plan["kept"], plan["files"])
    for path in plan["folders"]:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    for path in plan["mounts"]:
        bind(opened(path), path)
    # Last: a copy of a mount that is shared already would be one with it, and every later mount would be there twice.
    mount("none", "/", flags=SHARED | RECURSIVE)


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:
        raise SystemExit(str(problem)) from None
