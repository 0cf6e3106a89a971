"""Checks Ceph with the keys of its clients and writes the conditions into the ConfigMap ceph-health.

Each check logs in with the key of one client, from a mounted Secret. It runs in a child process with a timeout, because
librados may exceed its own timeouts. A change is written only if two consecutive checks agree.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rados
from kubernetes import Kubernetes

HEALTH = "ceph-health"
CLIENTS = Path("/etc/ceph-clients")  # one folder per Secret
ALIVE = Path("/tmp/alive")
INTERVAL, LIMIT = int(os.environ["WATCH_INTERVAL"]), int(os.environ["WATCH_TIMEOUT"])
AGAIN = 1  # seconds until the second check, which must agree
REREAD = 60  # seconds until the ConfigMap is read again, because other clients may have changed it
NEARLY_FULL = 0.85
REFUSED = (rados.PermissionDeniedError, rados.PermissionError)


def say(text: str) -> None:
    print(time.strftime("%FT%TZ", time.gmtime()), f"[watch] {text}", flush=True)


@dataclass
class Look:
    """Result of the check with one client's key."""

    client: str
    wanted: list[str]  # pools
    answered: bool = False
    refused: bool = False
    gone: list[str] = field(default_factory=list)  # monitors that do not respond
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)  # name → full, nearly, used


# ---- one check, in a child process -----------------------------------------------------------------------------------


def listens(address: str) -> bool:
    """Whether a monitor at "<ip>:<port>/<nonce>" accepts connections."""
    host, port = address.split("/")[0].rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), timeout=2):
        return True
    return False


def ask(cluster: rados.Rados, prefix: str, **arguments: str) -> Any:
    command = json.dumps({"prefix": prefix, "format": "json", **arguments})
    code, output, message = cluster.mon_command(command, b"", timeout=LIMIT)
    if code:
        raise rados.make_ex(-code, f"{prefix}: {message}")
    return json.loads(output)


def find_gone(quorum: dict[str, Any]) -> list[str]:
    monitors = {monitor["name"]: monitor["public_addr"] for monitor in quorum["monmap"]["mons"]}
    return [name for name, at in monitors.items() if name not in quorum["quorum_names"] or not listens(at)]


def find_pools(cluster: rados.Rados) -> dict[str, dict[str, Any]]:
    used = {pool["name"]: pool["stats"]["percent_used"] for pool in ask(cluster, "df")["pools"]}
    found = {}
    for pool in ask(cluster, "osd pool ls", detail="detail"):
        name, flags = pool["pool_name"], pool["flags_names"].split(",")
        part = used.get(name, 0.0)
        found[name] = {
            "full": bool({"full", "full_quota"} & set(flags)),
            "nearly": bool({"nearfull", "backfillfull"} & set(flags)) or part >= NEARLY_FULL,
            "used": part,
        }
    return found


def look(folder: Path, view: Look) -> None:
    conf = {"keyring": str(folder / "keyring"), "client_mount_timeout": str(LIMIT), "rados_mon_op_timeout": str(LIMIT)}
    cluster = rados.Rados(rados_id=view.client, conffile=str(folder / "ceph.conf"), conf=conf)
    try:
        cluster.connect()
        view.gone = find_gone(ask(cluster, "quorum_status"))
        view.pools = find_pools(cluster)
        view.answered = True
    except REFUSED:
        view.answered = view.refused = True


def begin(folder: Path) -> tuple[Look, int, int]:
    """Starts a check. Returns the result to use if it fails, the child's PID, and the file descriptor of its result."""
    view = Look((folder / "user").read_text().strip(), [])
    view.wanted = [pool["name"] for pool in json.loads((folder / "pools.json").read_text())]
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(Exception):
            look(folder, view)
            os.write(writing, json.dumps(vars(view)).encode())
        os._exit(0)  # without a shutdown of librados, which may block too
    os.close(writing)
    return view, child, reading


def end(view: Look, child: int, reading: int, deadline: float) -> Look:
    with os.fdopen(reading, "rb") as answer:
        if not select.select([answer], [], [], max(0, deadline - time.monotonic()))[0]:
            os.kill(child, signal.SIGKILL)
        text = answer.read()
    os.waitpid(child, 0)
    return Look(**json.loads(text)) if text else view


def look_with_all() -> list[Look]:
    """Checks with all clients' keys in parallel. The folder of a missing Secret is empty and skipped."""
    folders = [folder for folder in sorted(CLIENTS.iterdir()) if (folder / "pools.json").exists()]
    begun = [begin(folder) for folder in folders]
    deadline = time.monotonic() + LIMIT + 1
    return [end(*one, deadline) for one in begun]


# ---- conditions from all checks --------------------------------------------------------------------------------------


def condition(kind: str, reason: str = "Ready", message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": reason == "Ready", "reason": reason, "message": message}


def judge(looks: list[Look]) -> Iterator[dict[str, Any]]:
    """Conditions from all checks, without those that could not be determined."""
    if not looks:
        return
    seen = [view for view in looks if view.answered and not view.refused]
    if not any(view.answered for view in looks):
        yield condition("Monitors", "NoQuorum", "No monitor answers, or those that do are no majority")
        return
    if seen:
        gone = sorted({name for view in seen for name in view.gone})
        yield condition("Monitors", "MonitorGone", f"Not there: {', '.join(gone)}") if gone else condition("Monitors")
    refused = [f"client.{view.client}" for view in looks if view.refused]
    yield condition("Keys", "WrongKey", f"Ceph refuses {', '.join(refused)}") if refused else condition("Keys")
    if seen:
        missing = [f"{pool} of client.{view.client}" for view in seen for pool in view.wanted if pool not in view.pools]
        yield condition("Pools", "MissingPool", f"Missing: {', '.join(missing)}") if missing else condition("Pools")
        yield judge_capacity({pool: view.pools[pool] for view in seen for pool in view.wanted if pool in view.pools})


def judge_capacity(pools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    for key, reason, verb in (("full", "PoolFull", "Full"), ("nearly", "NearFull", "Nearly full")):
        if found := [f"{name} ({state['used']:.0%})" for name, state in sorted(pools.items()) if state[key]]:
            return condition("Capacity", reason, f"{verb}: {', '.join(found)}")
    return condition("Capacity")


# ---- the report ------------------------------------------------------------------------------------------------------


class Health:
    def __init__(self) -> None:
        self._kubernetes = Kubernetes("ceph-watch")
        self._written = ""
        self._read_at = float("-inf")

    def tells(self, text: str) -> bool:
        if time.monotonic() > self._read_at + REREAD:
            found = self._kubernetes.get("configmaps", HEALTH) or {}
            self._written = found.get("data", {}).get("health.json", "")
            self._read_at = time.monotonic()
        return self._written == text

    def write(self, text: str) -> None:
        self._kubernetes.apply("configmaps", HEALTH, {"data": {"health.json": text}})
        self._written = text


def main() -> None:
    health = Health()
    before: list[dict[str, Any]] | None = None
    while True:
        pause = INTERVAL
        try:
            now = list(judge(look_with_all()))
            text = json.dumps({"conditions": now})
            if not health.tells(text):
                if now == before:
                    texts = [f"{c['type']}: {c['reason']} {c['message']}".strip() for c in now]
                    say("; ".join(texts) or "nothing to look at")
                    health.write(text)
                else:
                    pause = AGAIN
            before = now
        except Exception as error:  # any error is logged and retried
            say(f"{type(error).__name__}: {error}")
        ALIVE.touch()
        time.sleep(pause)


if __name__ == "__main__":
    main()
