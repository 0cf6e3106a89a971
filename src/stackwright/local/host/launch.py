"""The program that starts a service: s6 executes a copy of this file, which is the `run` of the service.

It must start in milliseconds and use the standard library only (`python -I -S`). It reads `service.json` in its working
directory, ends processes that a killed supervisor left of the service, enters the service's cgroup in each hierarchy,
and executes the service's program.
"""

import json
import os
import pathlib
import signal
import sys
import time


def members(procs: pathlib.Path) -> list[int]:
    try:
        return [int(pid) for pid in procs.read_text().split() if int(pid) != os.getpid()]
    except OSError:
        return []


def end_leftovers(group: str) -> None:
    """End the processes of the group by SIGTERM, and after three seconds by SIGKILL."""
    start = time.monotonic()
    signaled: set[int] = set()
    while left := set(members(pathlib.Path(group, "cgroup.procs"))):
        rude = time.monotonic() - start > 3
        for pid in left if rude else left - signaled:
            try:
                os.kill(pid, signal.SIGKILL if rude else signal.SIGTERM)
            except ProcessLookupError:
                continue
        signaled |= left
        time.sleep(0.02)


def main() -> None:
    service = json.loads(pathlib.Path("service.json").read_text())
    if service["home"]:
        end_leftovers(service["home"])
    for group in service["cgroups"]:
        pathlib.Path(group, "cgroup.procs").write_text("0")
    # The service counts as started only when this is its pid: until then, an earlier process may still answer.
    pathlib.Path("launched").write_text(str(os.getpid()))
    os.dup2(1, 2)
    argv = service["argv"]
    os.execvpe(argv[0], argv, {**os.environ, **service["env"]})  # noqa: S606


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:
        # One line in the service's log; the supervisor retries after a second.
        sys.stdout.write(f"could not start: {problem}\n")
        sys.stdout.flush()
        raise SystemExit(1) from None
