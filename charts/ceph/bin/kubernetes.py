"""A client for the Kubernetes API calls of this chart's scripts, with the token of the pod."""

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
    """A client with one connection, which is opened by the first call and reopened after an error."""

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
        """An object, or None, and the resource version to watch it from."""
        found = self._answer("GET", f"{resource}?fieldSelector=metadata.name={name}")
        return next(iter(found["items"]), None), found["metadata"]["resourceVersion"]

    def apply(self, resource: str, name: str, content: dict[str, Any], **metadata: Any) -> None:
        """Creates or updates an object of core/v1 by server-side apply, which removes fields that we no longer set."""
        kind = {"secrets": "Secret", "configmaps": "ConfigMap"}[resource]
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}, **content}
        self._answer("PATCH", f"{resource}/{name}?fieldManager={self._manager}&force=true", body)

    def changed(self, resource: str, name: str, since: str, seconds: int) -> bool:
        """Waits until an object changes. Returns false if it did not change within `seconds`."""
        query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={since}&timeoutSeconds={seconds}"
        with self._call("GET", f"{resource}?{query}", None, seconds + 10) as response:
            if not response.readline():
                return False
        self.close()  # the response may contain more events
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
        token = (ACCOUNT / "token").read_text()  # kubelet renews it
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
