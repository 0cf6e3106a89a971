"""Imports modules in the master of uWSGI before it forks the workers (lib.uwsgi_conf).

The workers share the memory of the modules and do not import them again. Importing must not open connections or files
or start threads, because the workers would share them. If a module does so, or cannot be imported, uWSGI ends.
"""

import gc
import importlib
import os
import sys
import traceback

import uwsgi

DESCRIPTORS = "/proc/self/fd"


def preload(modules: list[str]) -> None:
    """Imports the modules and excludes them from garbage collection, which would copy their memory in each worker.

    Raises SystemExit if they opened files or started threads.
    """
    before = _opened()
    gc.disable()
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    gc.enable()
    if opened := sorted(_opened() - before):
        sys.exit(f"{', '.join(modules)}: workers would have in common what importing them opened: {', '.join(opened)}")


def _opened() -> set[str]:
    """Threads, and each open file descriptor as `number -> target`."""
    found = {f"thread {number}" for number in os.listdir("/proc/self/task")}
    for number in os.listdir(DESCRIPTORS):
        try:
            found.add(f"{number} -> {os.readlink(f'{DESCRIPTORS}/{number}')}")
        except OSError:  # the descriptor of the directory listing, closed meanwhile
            continue
    return found


sys.path.append("/opt/stackwright")
try:
    preload(uwsgi.opt["preload"].decode().split())
except Exception:  # uWSGI would log the exception and continue without the modules
    traceback.print_exc()
    sys.exit(1)
