"""What workers of uWSGI have in common: its master imports these modules before it makes them (lib.uwsgi_conf).

The workers share the memory of the modules and start without importing them again. The modules are imported and nothing of
them is called: a connection, a file or a thread that was there before the workers are made would be in all of them. A module
that opens one is an error, as is one that cannot be imported, and uWSGI ends.
"""

import gc
import importlib
import os
import sys
import traceback

import uwsgi

DESCRIPTORS = "/proc/self/fd"


def preload(modules: list[str]) -> None:
    """Import them, and let the garbage collector, which would copy their memory into each worker, leave them alone.

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
    """Threads and what is behind each open descriptor, as `number -> target`."""
    found = {f"thread {number}" for number in os.listdir("/proc/self/task")}
    for number in os.listdir(DESCRIPTORS):
        try:
            found.add(f"{number} -> {os.readlink(f'{DESCRIPTORS}/{number}')}")
        except OSError:  # the one by which the folder was read
            continue
    return found


sys.path.append("/opt/stackwright")
try:
    preload(uwsgi.opt["preload"].decode().split())
except Exception:  # of which uWSGI would only tell, and go on with half of the modules
    traceback.print_exc()
    sys.exit(1)
