"""An API server without objects, as a replacement of the HTTP transport."""

from __future__ import annotations

import json

import httpx2
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as ApiServer
from lightkube.config.models import User

from stackwright.adapters.kubernetes.client import KubernetesCluster


class Server:
    """An API server without objects, which records the paths of requests."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.queries: list[str] = []
        config = KubeConfig.from_one(cluster=ApiServer(server="https://api.test"), user=User(), context_name="test")
        self.cluster = KubernetesCluster(config)
        transport = httpx2.MockTransport(self._answer)
        self.cluster._client._client = httpx2.AsyncClient(transport=transport, base_url="https://api.test")

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path, _, query = request.url.raw_path.decode().partition("?")
        self.paths.append(path)
        self.queries.append(query)
        first, *parts = path.strip("/").split("/")
        group, version = (parts.pop(0) if first == "apis" else ""), parts.pop(0)
        parts = parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts
        if len(parts) == 1 and request.method == "GET":
            page = {"kind": "AnyList", "apiVersion": f"{group}/{version}".lstrip("/"), "items": []}
            return httpx2.Response(200, content=json.dumps(page))
        name = parts[1] if len(parts) > 1 else json.loads(request.content)["metadata"]["name"]
        details = {"name": name, "kind": parts[0], "group": group}
        body = {"kind": "Status", "code": 404, "message": "none", "details": details}
        return httpx2.Response(404, content=json.dumps(body))
