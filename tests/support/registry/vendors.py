"""Registries in memory with the deviations of vendors from the specification.

Sources: GHCR, github.com/oras-project/rust-oci-client/issues/35. ECR, github.com/aws/containers-roadmap/issues/2831 and
github.com/moby/buildkit/issues/3776. Quay, `endpoints/v2/blob.py` of github.com/quay/quay. Harbor,
github.com/goharbor/harbor/pull/9427.
"""

from __future__ import annotations

from dataclasses import dataclass

import httpx2

from support.registry.memory import Answer, MemoryRegistry, error


@dataclass
class Ghcr(MemoryRegistry):
    """Refuses chunks of more than 4 MiB, with the status of a wrong range; accepts a whole blob of any size."""

    largest: int = 4 << 20

    def _upload(self, method: str, repository: str, upload: str, request: httpx2.Request, body: bytes) -> Answer:
        if method == "PATCH" and len(body) > self.largest:
            text = "the request body is too large and exceeds the maximum permissible limit of 4.00MiB"
            return error(416, "REQUESTED_RANGE_NOT_SATISFIABLE", text)
        return super()._upload(method, repository, upload, request, body)


@dataclass
class Ecr(MemoryRegistry):
    """Responds to chunks with 201, keeps only the first one, and reports no state of an upload. Tags may be fixed."""

    immutable: tuple[int, str] | None = (400, "TAG_INVALID")

    def _upload(self, method: str, repository: str, upload: str, request: httpx2.Request, body: bytes) -> Answer:
        if method == "GET":
            return error(405, "UNSUPPORTED", "The operation is unsupported.")
        if method == "PATCH" and upload in self.uploads:
            if not self.uploads[upload]:
                self.store(upload, body)
            return self._at(201, repository, upload)
        return super()._upload(method, repository, upload, request, body)


@dataclass
class Quay(MemoryRegistry):
    """Uses absolute addresses. The state of an upload has no address, and reports one byte more than was received."""

    def _upload(self, method: str, repository: str, upload: str, request: httpx2.Request, body: bytes) -> Answer:
        had = len(self.uploads.get(upload, b""))
        if method == "GET" and upload in self.uploads:
            return Answer(204, headers={"Range": f"bytes=0-{had}"})
        answer = super()._upload(method, repository, upload, request, body)
        if "location" in answer.headers:
            answer.headers["location"] = f"{request.url.join('/')}{answer.headers['location'][1:]}"
        if method == "POST" and answer.status_code == 202:
            answer.headers["range"] = "bytes=0--1"
        if answer.status_code == 416:
            answer.headers["range"] = f"0-{had}"
        return answer


@dataclass
class Harbor(MemoryRegistry):
    """Lists artifacts, and fixes tags by rules."""

    referrers: bool = True
    immutable: tuple[int, str] | None = (412, "PRECONDITION")
