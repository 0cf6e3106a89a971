"""Manifests and blobs of a registry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from stackwright.adapters.registry import errors
from stackwright.adapters.registry.errors import RegistryError, TooLarge
from stackwright.adapters.registry.reference import is_digest
from stackwright.adapters.registry.session import Session
from stackwright.adapters.registry.upload import CHUNK, Blob, Manner, Upload

__all__ = ["Blob", "Registry"]

_IMMUTABLE = (400, 403, 405, 409, 412)  # statuses of responses to a change of an immutable tag


class Registry:
    """Calls of the registry's API. All raise RegistryError."""

    def __init__(self, session: Session, chunk: int = CHUNK) -> None:
        self._session = session
        self._manner = Manner(chunk)

    def has_manifest(self, repository: str, tag: str, digest: str, media_type: str) -> bool:
        """Whether a tag names this manifest, which has at most 1 MiB."""
        try:
            return self._named(repository, tag, media_type) == digest
        except TooLarge:
            return False

    def _named(self, repository: str, tag: str, media_types: str) -> str | None:
        """Return the digest of the manifest with this tag, or None."""
        target, accept = f"{repository}/manifests/{tag}", {"Accept": media_types}
        answer = self._session.request("HEAD", target, [repository], headers=accept, expected=(200, 404))
        if answer.status == 404:
            return None
        if given := self._digest(answer.headers.get("docker-content-digest")):
            return given
        answer = self._session.request("GET", target, [repository], headers=accept, expected=(200, 404))
        return None if answer.status == 404 else f"sha256:{hashlib.sha256(answer.body).hexdigest()}"

    def get_manifest(self, repository: str, tag: str, media_types: str) -> tuple[str, bytes] | None:
        """Return the digest and the content of the manifest with this tag or digest, or None."""
        target, accept = f"{repository}/manifests/{tag}", {"Accept": media_types}
        answer = self._session.request("GET", target, [repository], headers=accept, expected=(200, 404))
        if answer.status == 404:
            return None
        digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        named = tag if is_digest(tag) else self._digest(answer.headers.get("docker-content-digest"))
        if named not in (None, digest):
            raise errors.corrupt(self._session.host, f"another content of {repository}:{tag} than its digest says")
        return digest, answer.body

    def has_blob(self, repository: str, digest: str, size: int) -> bool:
        answer = self._session.request("HEAD", f"{repository}/blobs/{digest}", [repository], expected=(200, 404))
        if answer.status == 404:
            return False
        given, length = (answer.headers.get(name) for name in ("docker-content-digest", "content-length"))
        if self._digest(given) not in (None, digest):
            raise errors.corrupt(self._session.host, f"another digest than {digest}")
        if length is not None and length != str(size):
            raise errors.corrupt(self._session.host, f"another size of {digest} in {repository} than its image says")
        return True

    def get_blob(self, repository: str, digest: str) -> bytes:
        """Return a small blob that the repository has."""
        answer = self._session.request("GET", f"{repository}/blobs/{digest}", [repository])
        if f"sha256:{hashlib.sha256(answer.body).hexdigest()}" != digest:
            raise errors.corrupt(
                self._session.host, f"another content of {digest} in {repository} than its digest says"
            )
        return answer.body

    def push_blob(self, repository: str, blob: Blob, source: str | None, advanced: Callable[[int], None]) -> bool:
        """Mount or upload a blob that the repository lacks. Returns whether bytes were sent."""
        return Upload(self._session, repository, blob, advanced, self._manner).run(source)

    def put_manifest(self, repository: str, tag: str, content: bytes, media_type: str) -> str | None:
        """Upload a manifest, unless its tag names it, and return the digest of the subject if the registry reports it.

        Raises RegistryError if the registry then lacks the manifest, as a server that accepts any request does.
        """
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if not is_digest(tag) and self.has_manifest(repository, tag, digest, media_type):
            return None  # the tag may be immutable
        target, headers = f"{repository}/manifests/{tag}", {"Content-Type": media_type}
        try:
            answer = self._session.request(
                "PUT", target, [repository], headers=headers, content=content, expected=(201,)
            )
        except RegistryError as refusal:
            if refusal.status not in _IMMUTABLE:
                raise
            try:
                named = self._named(repository, tag, f"{media_type}, */*")
            except TooLarge:
                named = "which is too large to be read"
            if named == digest:  # another push was faster
                return None
            if named is None:
                raise
            raise RegistryError(
                f"{refusal} The tag {repository}:{tag} names another manifest there, {named}. If it is immutable, "
                "delete it there, or push to another prefix."
            ) from None
        if self._digest(answer.headers.get("docker-content-digest")) not in (None, digest):
            raise errors.invalid(self._session.host, f"another digest than that of {repository}:{tag}")
        if not self.has_manifest(repository, tag, digest, media_type):
            raise RegistryError(f"Registry {self._session.host} accepted the image {repository}:{tag}, but lacks it.")
        return answer.headers.get("oci-subject")

    def _digest(self, text: str | None) -> str | None:
        if text is not None and not is_digest(text):
            raise errors.invalid(self._session.host, "a digest that is not valid")
        return text
