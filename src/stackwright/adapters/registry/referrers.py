"""Artifacts that refer to a manifest, such as the bill of materials of an image, by OCI 1.1.

A registry lists them by its referrers API. If it lacks this API, the client maintains the list, as the specification
requires: an index with a tag derived from the digest of the manifest. Entries of other clients are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2

from stackwright.adapters.registry.client import Registry
from stackwright.adapters.registry.errors import RegistryError, TooLarge
from stackwright.adapters.registry.session import Session

_INDEX = "application/vnd.oci.image.index.v1+json"
_WITHOUT = (303, 400, 404, 405, 501)  # statuses of registries without the API, some of which redirect to a page
_NEXT = re.compile(r'<([^<>]*)>\s*;\s*rel="?next\b', re.IGNORECASE)
_PAGES = 32  # of a list, each of at most 1 MiB


class Referrers:
    """Artifacts of one registry. All methods raise RegistryError.

    An artifact is given as its descriptor: `mediaType`, `digest`, `size`, `artifactType`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._registry = Registry(session)

    def has(self, repository: str, subject: str, artifact: Mapping[str, Any]) -> bool:
        """Whether the repository has an artifact and lists it for the manifest with the digest `subject`.

        A list that cannot be read completely is treated as one with the artifact: other clients may have extended it.
        """
        digest = artifact["digest"]
        return self._lists(repository, subject, digest) is not False and self._registry.has_manifest(
            repository, digest, digest, artifact["mediaType"]
        )

    def attach(self, repository: str, subject: str, artifact: Mapping[str, Any], content: bytes) -> None:
        """Upload the manifest of an artifact, which names the subject, and list it."""
        digest, media_type = artifact["digest"], artifact["mediaType"]
        noted = self._registry.put_manifest(repository, digest, content, media_type)
        if noted != subject and self._lists(repository, subject, digest) is False:
            self._list(repository, subject, artifact)
        if not self.has(repository, subject, artifact):
            raise RegistryError(
                f"Registry {self._session.host} accepted an artifact in {repository}, but does not list it."
            )

    def _lists(self, repository: str, subject: str, digest: str) -> bool | None:
        """Whether an artifact is listed for a manifest; None if the list exceeds the part that is read."""
        target: str | httpx2.URL | None = f"{repository}/referrers/{subject}"
        for page in range(_PAGES):
            if target is None:
                return None
            try:
                answer = self._session.request(
                    "GET", target, [repository], headers={"Accept": _INDEX}, expected=(200, *_WITHOUT)
                )
            except TooLarge:
                return None
            listed = _manifests(_parsed(answer.body)) if answer.status == 200 else None
            if listed is None and page:
                return None
            if listed is None:  # the API is missing
                try:
                    return _has(self._index(repository, subject)["manifests"], digest)
                except TooLarge:
                    return None
            following = _NEXT.search(answer.headers.get("link", ""))
            if _has(listed, digest) or following is None:
                return _has(listed, digest)
            target = self._session.own(answer, following[1])
        return None

    def _index(self, repository: str, subject: str) -> dict[str, Any]:
        """The list that clients maintain; an empty one if it does not exist."""
        tag = subject.replace(":", "-")
        answer = self._registry.get_manifest(repository, tag, _INDEX)
        if answer is None:
            return {"schemaVersion": 2, "mediaType": _INDEX, "manifests": []}
        found: dict[str, Any] = _parsed(answer[1])
        if _manifests(found) is None:
            raise RegistryError(f"{self._session.host}/{repository}:{tag} is not an index of artifacts.")
        return found

    def _list(self, repository: str, subject: str, artifact: Mapping[str, Any]) -> None:
        index = self._index(repository, subject)
        others = [each for each in index["manifests"] if each.get("digest") != artifact["digest"]]
        content = json.dumps(index | {"manifests": [*others, dict(artifact)]}, sort_keys=True).encode()
        self._registry.put_manifest(repository, subject.replace(":", "-"), content, _INDEX)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _has(listed: list[dict[str, Any]], digest: str) -> bool:
    return any(each.get("digest") == digest for each in listed)


def _manifests(index: Any) -> list[dict[str, Any]] | None:
    found = index.get("manifests") if isinstance(index, dict) else None
    valid = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if valid else None
