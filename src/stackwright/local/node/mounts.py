"""The program that sets up the mount namespace of a node. `local/node/namespaces.py` runs it once, inside this
namespace.

It uses the standard library only (`python -I -S`), reads a plan as JSON from standard input, and calls mount(2)
directly: sources are open directories, because a source may be below a directory that is replaced first.
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
    """Unmount the copies of mounts at these places, latest first; they would keep what the machine or a node frees."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    targets = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    for target in reversed(targets):
        if any(target == place or target.startswith(f"{place}/") for place in places):
            C.umount2(target.encode(), DETACH)


def replace(own: dict[str, str], kept: list[str], files: dict[str, str]) -> None:
    """Mount the node's directories (a tmpfs without a source) over the machine's; `kept` paths stay visible."""
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
    # Last: a copy of an already shared mount would be in its peer group, and every later mount would appear twice.
    mount("none", "/", flags=SHARED | RECURSIVE)


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:
        raise SystemExit(str(problem)) from None
