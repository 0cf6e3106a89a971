"""The few calls of the Kubernetes API that the bring-up needs: health, readiness, apply.

It uses the standard library and not lightkube, as controllers and commands do, because a second `up` must end within a
second or two, and begins with a check whether an API server runs at all.
"""

from __future__ import annotations

import http.client
import json
import math
import ssl
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from stackwright.local.commands import LocalError
from stackwright.local.config import API_PORT, MACHINE_ADDRESS, LocalCluster

FIELD_MANAGER = "stackwright-local"


class Api:
    """Requests with the administrator's certificate."""

    def __init__(self, pki: Path, address: str = MACHINE_ADDRESS, port: int = API_PORT) -> None:
        self._pki = pki
        self._address = address
        self._port = port

    def request(self, method: str, path: str, body: Any = None, *, limit: float = 10) -> tuple[int, Any]:
        """Return (status, JSON or text). Status 0 with the reason as text if there is no response."""
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        try:
            context = _context(self._pki, _made(self._pki))
            connection = http.client.HTTPSConnection(self._address, self._port, timeout=limit, context=context)
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": kind, "Accept": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
        except (OSError, http.client.HTTPException) as problem:
            return 0, str(problem)
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def unready(self) -> str | None:
        """A Probe: None if the API server is ready."""
        status, said = self.request("GET", "/readyz", limit=3)
        if status == 200:
            return None
        if status == 401:
            return "it refuses the administrator's certificate (HTTP 401)"
        return f"/readyz says {status or said}"

    def get(self, path: str) -> dict[str, Any] | None:
        status, said = self.request("GET", path)
        if status == 404:
            return None
        if status != 200:
            raise LocalError(f"GET {path}: {status} {_message(said)}")
        assert isinstance(said, dict)
        return said

    def apply(self, path: str, manifest: dict[str, Any]) -> None:
        """Server-side apply of one object at its path."""
        where = f"{path}?fieldManager={FIELD_MANAGER}&force=true"
        status, said = self.request("PATCH", where, manifest)
        if status not in (200, 201):
            raise LocalError(f"applying {path}: {status} {_message(said)}")

    def delete(self, path: str) -> None:
        status, said = self.request("DELETE", path)
        if status not in (200, 202, 404):
            raise LocalError(f"DELETE {path}: {status} {_message(said)}")


def of(cluster: LocalCluster) -> Api:
    return Api(cluster.pki)


def _made(pki: Path) -> tuple[int, ...]:
    """Modification times of the files, which may be renewed, or recreated with the cluster, while a process runs."""
    return tuple((pki / name).stat().st_mtime_ns for name in ("ca.crt", "admin.crt", "admin.key"))


@cache
def _context(pki: Path, made: tuple[int, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    return context


def _message(said: Any) -> str:
    return str(said.get("message", said)) if isinstance(said, dict) else str(said)


def node_unready(node: dict[str, Any] | None, since: float = 0, until: float = math.inf) -> str | None:
    """None if the node has reported Ready between `since` and `until`, otherwise the reason."""
    if node is None:
        return "not registered yet"
    for condition in node.get("status", {}).get("conditions", []):
        if condition["type"] == "Ready":
            if not since <= datetime.fromisoformat(condition["lastHeartbeatTime"]).timestamp() <= until:
                return "no status of its kubelet since the kubelet's start"
            return None if condition["status"] == "True" else str(condition.get("message", "not ready"))
    return "no status yet"


def deployment_unready(deployment: dict[str, Any] | None) -> str | None:
    if deployment is None:
        return "does not exist"
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return "not observed yet"
    ready = min(status.get("availableReplicas", 0), status.get("updatedReplicas", 0))
    return None if ready >= wanted else f"{ready} of {wanted} replicas available"
