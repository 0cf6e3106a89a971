"""Manifests and blobs of a registry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from stackwright.adapters.registry import errors
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.exchange import Answer
from stackwright.adapters.registry.reference import is_digest
from stackwright.adapters.registry.session import Session
from stackwright.adapters.registry.upload import CHUNK, Blob, Upload

__all__ = ["Blob", "Registry"]


class Registry:
    """The calls that we need. All raise RegistryError."""

    def __init__(self, session: Session, chunk: int = CHUNK) -> None:
        self._session = session
        self._chunk = chunk

    def has_manifest(self, repository: str, tag: str, digest: str, media_type: str) -> bool:
        """Whether a tag names this manifest."""
        target, accept = f"{repository}/manifests/{tag}", {"Accept": media_type}
        answer = self._session.request("HEAD", target, [repository], headers=accept, expected=(200, 404))
        if answer.status == 404:
            return False
        if given := self._digest(answer.headers.get("docker-content-digest")):
            return given == digest
        answer = self._session.request("GET", target, [repository], headers=accept, expected=(200, 404))
        return answer.status == 200 and f"sha256:{hashlib.sha256(answer.body).hexdigest()}" == digest

    def get_manifest(self, repository: str, tag: str, media_types: str) -> tuple[str, bytes] | None:
        """Return the digest and the content of what a tag or digest names, or None."""
        target, accept = f"{repository}/manifests/{tag}", {"Accept": media_types}
        answer = self._session.request("GET", target, [repository], headers=accept, expected=(200, 404))
        if answer.status == 404:
            return None
        digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        named = tag if is_digest(tag) else self._digest(answer.headers.get("docker-content-digest"))
        if named not in (None, digest):
            raise errors.invalid(self._session.host, f"another content of {repository}:{tag} than its digest says")
        return digest, answer.body

    def has_blob(self, repository: str, digest: str, size: int) -> bool:
        answer = self._session.request("HEAD", f"{repository}/blobs/{digest}", [repository], expected=(200, 404))
        if answer.status == 404:
            return False
        given, length = (answer.headers.get(name) for name in ("docker-content-digest", "content-length"))
        if self._digest(given) not in (None, digest):
            raise errors.invalid(self._session.host, f"another digest than {digest}")
        if length is not None and length != str(size):
            raise errors.OtherSize(f"Registry {self._session.host} answered with another size of {digest}.")
        return True

    def get_blob(self, repository: str, digest: str) -> bytes:
        """Return a small blob that the repository has."""
        answer = self._session.request("GET", f"{repository}/blobs/{digest}", [repository])
        if f"sha256:{hashlib.sha256(answer.body).hexdigest()}" != digest:
            raise errors.invalid(self._session.host, f"another content than that of {digest}")
        return answer.body

    def push_blob(self, repository: str, blob: Blob, source: str | None, advanced: Callable[[int], None]) -> bool:
        """Mount or upload a blob that the repository lacks. Returns whether bytes were sent."""
        return Upload(self._session, repository, blob, advanced, self._chunk).run(source)

    def put_manifest(self, repository: str, tag: str, content: bytes, media_type: str) -> Answer:
        """Put a manifest. The registry must then have it: what answers any request is no registry."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        target, headers = f"{repository}/manifests/{tag}", {"Content-Type": media_type}
        answer = self._session.request("PUT", target, [repository], headers=headers, content=content, expected=(201,))
        if self._digest(answer.headers.get("docker-content-digest")) not in (None, digest):
            raise errors.invalid(self._session.host, f"another digest than that of {repository}:{tag}")
        if not self.has_manifest(repository, tag, digest, media_type):
            raise RegistryError(f"Registry {self._session.host} accepted the image {repository}:{tag}, but lacks it.")
        return answer

    def _digest(self, text: str | None) -> str | None:
        if text is not None and not is_digest(text):
            raise errors.invalid(self._session.host, "a digest that is not valid")
        return text
