"""A container registry in memory, behind a transport of httpx2: the parts of the specification that a push uses."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import httpx2

HOST = "registry.test"
AUTH = "auth.test"
USER, PASSWORD = "pusher", "correct horse"

Answer = httpx2.Response
Hook = Callable[[httpx2.Request, bytes], Answer | None]
_UPLOAD = re.compile(r"/v2/(.+)/blobs/uploads/([a-z0-9]*)")
_BLOB = re.compile(r"/v2/(.+)/blobs/(sha256:[0-9a-f]{64})")
_REFERRERS = re.compile(r"/v2/(.+)/referrers/(sha256:[0-9a-f]{64})")
_MANIFEST = re.compile(r"/v2/(.+)/manifests/([\w.:-]+)")


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class MemoryRegistry:
    """login  `none`, `basic` or `bearer`. hook  is called before each request; may return a response, or raise
    referrers  whether it has the API that lists artifacts
    immutable  status and code of the response to a push to an existing tag, whatever its content
    """

    login: str = "none"
    mounts: bool = True
    referrers: bool = False
    immutable: tuple[int, str] | None = None
    hook: Hook = lambda request, body: None
    blobs: dict[str, dict[str, bytes]] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    requests: list[httpx2.Request] = field(default_factory=list)
    tokens: dict[str, list[str]] = field(default_factory=dict)
    received: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _count: int = 0
    _generation: int = 0

    def transport(self) -> httpx2.MockTransport:
        """The transport of one process."""
        return httpx2.MockTransport(partial(self._handle, self._generation))

    def disconnect(self) -> None:
        """Kill all processes: their unfinished requests have no effect."""
        with self._lock:
            self._generation += 1

    def methods(self) -> list[str]:
        """Methods of the requests since the last call."""
        found = [request.method for request in self.requests if request.url.host == HOST]
        self.requests.clear()
        return found

    def cut_first_put(self, *, done: bool) -> None:
        """End the connection of the first PUT without a response. done  whether the registry has processed it"""

        def cut(request: httpx2.Request, body: bytes) -> None:
            if request.method == "PUT" and self.requests_of("PUT") == 1:
                if done:
                    self._answer(request, body)
                raise httpx2.ReadError("cut")

        self.hook = cut

    def requests_of(self, method: str) -> int:
        return sum(request.method == method for request in self.requests)

    def _handle(self, generation: int, request: httpx2.Request) -> Answer:
        with self._lock:
            if generation != self._generation:
                raise httpx2.WriteError("the process was killed")
            body = request.read()
            self.requests.append(request)
            answer = self.hook(request, body)
            if answer is None:
                answer = self._token(request) if request.url.host == AUTH else self._permitted(request, body)
            return answer

    def _token(self, request: httpx2.Request) -> Answer:
        given = request.headers.get("authorization")
        if given not in (None, self._basic()):
            return Answer(401)
        scopes = request.url.params.get_list("scope") if given else []
        self._count += 1
        self.tokens[f"token-{self._count}"] = scopes
        return Answer(200, json={"token": f"token-{self._count}"})

    def _basic(self) -> str:
        return f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"

    def _permitted(self, request: httpx2.Request, body: bytes) -> Answer:
        given = request.headers.get("authorization", "")
        if self.login == "basic" and given != self._basic():
            return Answer(401, headers={"WWW-Authenticate": 'Basic realm="registry"'})
        if self.login == "bearer":
            scopes = self.tokens.get(given.removeprefix("Bearer "), [])
            names = [scope.split(":")[1] for scope in scopes]
            if not any(f"/v2/{name}/" in request.url.path for name in names):
                wanted = f'Bearer realm="https://{AUTH}/token",service="{HOST}"'
                return Answer(401, headers={"WWW-Authenticate": wanted})
        return self._answer(request, body)

    def _answer(self, request: httpx2.Request, body: bytes) -> Answer:
        path, method = request.url.path, request.method
        if found := _UPLOAD.fullmatch(path):
            return self._upload(method, found[1], found[2], request, body)
        if found := _BLOB.fullmatch(path):
            content = self.blobs.get(found[1], {}).get(found[2])
            return self._stored(method, content)
        if found := _MANIFEST.fullmatch(path):
            if method == "PUT":
                return self._put_manifest(found[1], found[2], body)
            return self._stored(method, self.manifests.get((found[1], found[2])))
        if self.referrers and (found := _REFERRERS.fullmatch(path)):
            return self._referring(found[1], found[2])
        return error(404, "UNSUPPORTED", "no such path")

    def _stored(self, method: str, content: bytes | None) -> Answer:
        if content is None:
            return Answer(404)
        headers = {"Docker-Content-Digest": digest(content), "Content-Length": str(len(content))}
        return Answer(200, headers=headers, content=content if method == "GET" else None)

    def _put_manifest(self, repository: str, tag: str, body: bytes) -> Answer:
        if self.immutable and (repository, tag) in self.manifests and not tag.startswith("sha256:"):
            return error(*self.immutable, f"The tag {tag} is immutable.")
        document = json.loads(body)
        if "manifests" in document:
            listed = {each["digest"] for each in document["manifests"]}
            known = {name for place, name in self.manifests if place == repository}
        else:
            listed = {document["config"]["digest"], *(layer["digest"] for layer in document["layers"])}
            known = set(self.blobs.get(repository, {}))
        if not listed <= known:
            return error(400, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry")
        self.manifests[repository, tag] = self.manifests[repository, digest(body)] = body
        subject = (document.get("subject") or {}).get("digest")
        noted = {"OCI-Subject": subject} if subject and self.referrers else {}
        return Answer(201, headers={"Docker-Content-Digest": digest(body), **noted})

    def _referring(self, repository: str, subject: str) -> Answer:
        found = []
        for (place, name), body in self.manifests.items():
            document = json.loads(body)
            if (
                place == repository
                and name == digest(body)
                and (document.get("subject") or {}).get("digest") == subject
            ):
                described = {"mediaType": document["mediaType"], "digest": name, "size": len(body)}
                found.append(described | {"artifactType": document["artifactType"]})
        return Answer(200, json={"schemaVersion": 2, "manifests": found})

    def _upload(self, method: str, repository: str, upload: str, request: httpx2.Request, body: bytes) -> Answer:
        if method == "POST":
            return self._begin(repository, request)
        if upload not in self.uploads:
            return error(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
        had = self.uploads[upload]
        if method == "PATCH":
            if request.headers["content-range"].partition("-")[0] != str(len(had)):
                return self._at(416, repository, upload)
            self.store(upload, body)
            return self._at(202, repository, upload)
        if method == "GET":
            return self._at(204, repository, upload)
        self.store(upload, body)
        had, wanted = self.uploads[upload], request.url.params["digest"]
        if digest(had) != wanted:
            return error(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        del self.uploads[upload]
        self.blobs.setdefault(repository, {})[wanted] = had
        return Answer(201, headers={"Docker-Content-Digest": wanted})

    def store(self, upload: str, content: bytes) -> None:
        self.uploads[upload] += content
        self.received += len(content)

    def _begin(self, repository: str, request: httpx2.Request) -> Answer:
        mount, source = (request.url.params.get(name) for name in ("mount", "from"))
        content = self.blobs.get(source or "", {}).get(mount or "")
        if mount and content is not None and self.mounts:
            self.blobs.setdefault(repository, {})[mount] = content
            return Answer(201, headers={"Docker-Content-Digest": mount})
        self._count += 1
        self.uploads[f"u{self._count}"] = b""
        return self._at(202, repository, f"u{self._count}")

    def _at(self, status: int, repository: str, upload: str) -> Answer:
        end = max(0, len(self.uploads[upload]) - 1)
        location = f"/v2/{repository}/blobs/uploads/{upload}?_state=a%3D"
        return Answer(status, headers={"Location": location, "Range": f"0-{end}"})


def error(status: int, code: str, message: str) -> Answer:
    return Answer(status, json={"errors": [{"code": code, "message": message}]})
