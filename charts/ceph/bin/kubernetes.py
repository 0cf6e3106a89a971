"""The few calls of the Kubernetes API that the scripts of this chart need, with the pod's own token."""

import contextlib
import http.client
import json
import os
import ssl
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"Kubernetes answers {status}: {message}")
        self.status = status


class Kubernetes:
    """One connection, made when it is needed, and again after any trouble."""

    def __init__(self, manager: str) -> None:
        self.namespace = os.environ["POD_NAMESPACE"]
        self._manager = manager
        self._connection: http.client.HTTPSConnection | None = None

    def get(self, resource: str, name: str) -> dict[str, Any] | None:
        try:
            return self._answer("GET", f"{resource}/{name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def find(self, resource: str, name: str) -> tuple[dict[str, Any] | None, str]:
        """An object, and from where on to watch it."""
        found = self._answer("GET", f"{resource}?fieldSelector=metadata.name={name}")
        return next(iter(found["items"]), None), found["metadata"]["resourceVersion"]

    def apply(self, resource: str, name: str, content: dict[str, Any], **metadata: Any) -> None:
        """Make an object of core/v1, or bring it to this content; fields that we set once and do not set now go."""
        kind = {"secrets": "Secret", "configmaps": "ConfigMap"}[resource]
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}, **content}
        self._answer("PATCH", f"{resource}/{name}?fieldManager={self._manager}&force=true", body)

    def changed(self, resource: str, name: str, since: str, seconds: int) -> bool:
        """Wait until an object is another than it was; false if nothing happened in that time."""
        query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={since}&timeoutSeconds={seconds}"
        with self._call("GET", f"{resource}?{query}", None, seconds + 10) as response:
            if not response.readline():
                return False
        self.close()  # more might follow
        return True

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._call(method, path, body, 10) as response:
            found: dict[str, Any] = json.load(response)
            return found

    @contextlib.contextmanager
    def _call(self, method: str, path: str, body: dict[str, Any] | None, seconds: int) -> Any:
        token = (ACCOUNT / "token").read_text()  # it is renewed now and then
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/apply-patch+yaml"}
        try:
            if not self._connection:
                context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
                host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
                self._connection = http.client.HTTPSConnection(host, int(port), timeout=seconds, context=context)
                self._connection.connect()
            self._connection.sock.settimeout(seconds)
            self._connection.request(
                method, f"/api/v1/namespaces/{self.namespace}/{path}", body and json.dumps(body), headers
            )
            response = self._connection.getresponse()
            if response.status >= 400:
                raise ApiError(response.status, json.load(response).get("message", ""))
            yield response
        except ApiError:
            raise
        except Exception:
            self.close()
            raise
