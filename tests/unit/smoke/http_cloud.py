"""A cloud's APIs on localhost, as far as the SDK must be able to talk to them: objects by collection, and what acts.

It shows that the adapters' calls reach the paths that the services have, with the bodies they take. What services do
with them is the business of the end-to-end tests.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, Any]
# Collections whose objects are wrapped in their singular: collection → singular.
WRAPPED = {
    "networks": "network", "subnets": "subnet", "routers": "router", "ports": "port", "floatingips": "floatingip",
    "security-groups": "security_group", "security-group-rules": "security_group_rule", "agents": "agent",
    "flavors": "flavor", "servers": "server", "os-keypairs": "keypair", "os-services": "service",
    "projects": "project", "users": "user", "roles": "role",
}  # fmt: skip
LISTED = {"os-keypairs": "keypairs", "os-services": "services"}


class HttpCloud:
    """`calls`: all requests, as METHOD path."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in (*WRAPPED, "images")}
        self.calls: list[str] = []
        self.bodies: list[tuple[str, Any]] = []
        self._ids = itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.put("roles", {"name": "member"})
        self.admin_project = self.put("projects", {"name": "admin", "domain_id": "default"})["id"]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(self, collection: str, fields: dict[str, Any]) -> dict[str, Any]:
        made = {"id": f"{collection}-{next(self._ids)}", **fields}
        if collection == "os-keypairs":
            made["id"] = made["name"]
        self.kept[collection][made["id"]] = made
        return made

    # What each service answers

    def answer(self, method: str, path: str, query: dict[str, str], body: Any, token: str) -> Answer:
        if path == "/identity/v3/auth/tokens":
            return self._token(body)
        if versions := self._versions(path):
            return versions
        if match := re.fullmatch(r"/compute/v2.1/servers/([^/]+)/(action|remote-consoles)", path):
            return self._act(match[1], body)
        if match := re.fullmatch(r"/network/v2.0/routers/([^/]+)/(add|remove)_router_interface", path):
            return self._interface(match[1], match[2], body)
        if match := re.fullmatch(r"/image/v2/images/([^/]+)/file", path):
            self.kept["images"][match[1]] |= {"status": "active"}
            return 204, None
        if "/roles/" in path and method == "PUT":
            return 204, None
        match = re.fullmatch(r"/(?:identity/v3|compute/v2.1|network/v2.0|image/v2)/([a-z_-]+)(?:/(.+))?", path)
        assert match, f"{method} {path}"
        return self._crud(method, match[1], match[2], query, self._named(body, match[1], token))

    def _named(self, body: Any, collection: str, token: str) -> Any:
        """What services add to a new object."""
        if body is None:
            return None
        fields = body.get(WRAPPED.get(collection, ""), body)
        project = token.partition(":")[2]
        extra: dict[str, Any] = {"project_id": project, "tenant_id": project}
        if collection == "ports":
            extra |= {"fixed_ips": [{"ip_address": "192.168.213.5", "subnet_id": "s"}], "device_owner": ""}
        if collection == "floatingips":
            extra["floating_ip_address"] = "172.24.4.77"
        if collection == "images":
            extra |= {"owner": project, "status": "queued"}
        if collection == "servers":
            extra |= {"status": "ACTIVE", "OS-EXT-STS:task_state": None, "OS-EXT-SRV-ATTR:host": "node1"}
        return {**extra, **fields} if collection not in ("users", "projects", "roles") else fields

    def _crud(self, method: str, collection: str, id_: str | None, query: dict[str, str], fields: Any) -> Answer:
        kept, one = self.kept[collection], WRAPPED.get(collection)
        if method == "POST":
            made = self.put(collection, fields)
            return 201, {one: made} if one else made
        if id_ in (None, "detail"):
            names = LISTED.get(collection, collection.replace("-", "_"))
            found = [obj for obj in kept.values() if self._matches(obj, query)]
            return 200, {names: [{one: obj} for obj in found] if collection == "os-keypairs" else found}
        if id_ not in kept:
            return 404, {"error": {"message": "gone", "code": 404}}
        if method == "DELETE":
            del kept[id_]
            return 204, None
        return 200, {one: kept[id_]} if one else kept[id_]

    @staticmethod
    def _matches(obj: dict[str, Any], query: dict[str, str]) -> bool:
        return all(key not in obj or str(obj[key]) == value.strip("^$") for key, value in query.items())

    def _act(self, server: str, body: dict[str, Any]) -> Answer:
        (verb, _), *_ = body.items()
        self.bodies.append((verb, body[verb]))
        if verb == "os-getConsoleOutput":
            return 200, {"output": "hello"}
        if verb == "remote_console":
            return 200, {"remote_console": {**body[verb], "url": "https://novncproxy.x/vnc.html?path=%3Ftoken%3Dt"}}
        if verb == "resize":
            self.kept["servers"][server]["status"] = "VERIFY_RESIZE"
        return 202, None

    def _interface(self, router: str, verb: str, body: dict[str, Any]) -> Answer:
        if verb == "add":
            fields = {"device_id": router, "device_owner": "network:router_interface", "project_id": "p", "name": ""}
            self.put("ports", {**fields, "fixed_ips": [{"ip_address": "1.1.1.1", "subnet_id": body["subnet_id"]}]})
        else:
            del self.kept["ports"][body["port_id"]]
        return 200, {"id": router}

    def _versions(self, path: str) -> Answer | None:
        head = {"status": "CURRENT", "id": "v2.1", "version": "2.96", "min_version": "2.1", "updated": ""}
        if path in ("/compute/v2.1", "/compute/v2.1/"):
            return 200, {"version": {**head, "links": [{"rel": "self", "href": f"{self.url}/compute/v2.1/"}]}}
        if path.rstrip("/") == "/image":
            link = [{"rel": "self", "href": f"{self.url}/image/v2/"}]
            return 300, {"versions": [{"id": "v2.17", "status": "CURRENT", "links": link}]}
        if path.rstrip("/") == "/network":
            link = [{"rel": "self", "href": f"{self.url}/network/v2.0/"}]
            return 200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": link}]}
        if path.rstrip("/") == "/identity/v3":
            link = [{"rel": "self", "href": f"{self.url}/identity/v3/"}]
            return 200, {"version": {"id": "v3.14", "status": "stable", "links": link}}
        return None

    def _token(self, body: dict[str, Any]) -> Answer:
        auth = body["auth"]
        name = auth["scope"]["project"]["name"]
        project = next(p["id"] for p in self.kept["projects"].values() if p["name"] == name)
        kinds = {"identity": "identity/v3", "compute": "compute/v2.1", "image": "image", "network": "network"}
        catalog = [
            {"type": kind, "name": kind, "id": kind, "endpoints": [
                {"id": kind, "interface": "public", "region": "RegionOne", "region_id": "RegionOne",
                 "url": f"{self.url}/{path}"}]}
            for kind, path in kinds.items()
        ]  # fmt: skip
        domain = {"id": "default", "name": "Default"}
        user = {"id": "u", "name": auth["identity"]["password"]["user"]["name"], "domain": domain}
        token = {"methods": ["password"], "user": user, "project": {"id": project, "name": name, "domain": domain}}
        token |= {"catalog": catalog, "roles": [], "expires_at": "2099-01-01T00:00:00.000000Z"}
        token["issued_at"] = "2025-01-01T00:00:00.000000Z"
        return 201, {"token": token, "_subject": f"t:{project}"}


def _handler(cloud: HttpCloud) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            parts = urlsplit(self.path)
            raw = self._body()
            is_json = "json" in self.headers.get("Content-Type", "")
            body = json.loads(raw) if raw and is_json else None
            cloud.calls.append(f"{self.command} {parts.path}")
            token = self.headers.get("X-Auth-Token", "")
            status, data = cloud.answer(self.command, parts.path, dict(parse_qsl(parts.query)), body, token)
            text = b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            if isinstance(data, dict) and "_subject" in data:
                self.send_header("X-Subject-Token", data["_subject"])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                data = b""
                while size := int(self.rfile.readline(), 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return data
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _do

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
