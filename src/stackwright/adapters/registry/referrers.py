"""Artifacts that refer to a manifest, such as the bill of materials of an image, by OCI 1.1.

A registry lists them by its API of referrers. For one without it, the client keeps the list itself, as the
specification says: an index with a tag that is made from the digest of the manifest. What others listed there stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stackwright.adapters.registry.client import Registry
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.session import Session

_INDEX = "application/vnd.oci.image.index.v1+json"
_WITHOUT = (303, 400, 404, 405, 501)  # statuses of registries without the API, some of which redirect to a page


class Referrers:
    """Artifacts of one registry. All raise RegistryError.

    An artifact is given as its descriptor: `mediaType`, `digest`, `size`, `artifactType`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._registry = Registry(session)

    def has(self, repository: str, subject: str, artifact: Mapping[str, Any]) -> bool:
        """Whether the repository has an artifact and lists it for the manifest with the digest `subject`."""
        digest, listed = artifact["digest"], self._listed(repository, subject)
        return any(each.get("digest") == digest for each in listed) and self._registry.has_manifest(
            repository, digest, digest, artifact["mediaType"]
        )

    def attach(self, repository: str, subject: str, artifact: Mapping[str, Any], content: bytes) -> None:
        """Put the manifest of an artifact, which names the subject, and list it."""
        digest, media_type = artifact["digest"], artifact["mediaType"]
        answer = self._registry.put_manifest(repository, digest, content, media_type)
        if answer.headers.get("oci-subject") != subject:
            self._list(repository, subject, artifact)
        if not self.has(repository, subject, artifact):
            raise RegistryError(
                f"Registry {self._session.host} accepted an artifact in {repository}, but does not list it."
            )

    def _listed(self, repository: str, subject: str) -> list[dict[str, Any]]:
        target, accept = f"{repository}/referrers/{subject}", {"Accept": _INDEX}
        answer = self._session.request("GET", target, [repository], headers=accept, expected=(200, *_WITHOUT))
        listed = _manifests(_parsed(answer.body)) if answer.status == 200 else None
        return listed if listed is not None else self._index(repository, subject)["manifests"]

    def _index(self, repository: str, subject: str) -> dict[str, Any]:
        """The list that clients keep; an empty one if there is none."""
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


def _manifests(index: Any) -> list[dict[str, Any]] | None:
    found = index.get("manifests") if isinstance(index, dict) else None
    valid = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if valid else None
