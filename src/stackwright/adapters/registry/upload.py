"""Upload one blob: by a mount from another repository, or in chunks.

After a cut, the registry is asked what it has, and the upload continues there. An upload that it no longer knows begins
again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

from stackwright.adapters.registry import errors
from stackwright.adapters.registry.errors import RegistryError, Stopped, Transient
from stackwright.adapters.registry.exchange import Answer
from stackwright.adapters.registry.session import ATTEMPTS, Session

CHUNK = 16 << 20
_PIECE = 1 << 20
_RANGE = re.compile(r"(?:bytes=)?0-([0-9]{1,15})")
_BYTES = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True)
class Blob:
    digest: str
    size: int
    path: Path


@dataclass
class _Progress:
    """location  of the upload, None before it begins; offset  bytes that the registry has; sent  the most it had"""

    location: httpx2.URL | None = None
    offset: int = 0
    sent: int = 0


class Upload:
    """The upload of one blob to one repository. `advanced` is called with the number of each chunk's bytes."""

    def __init__(
        self, session: Session, repository: str, blob: Blob, advanced: Callable[[int], None], chunk: int = CHUNK
    ) -> None:
        self._session, self._repository, self._blob = session, repository, blob
        self._advanced, self._chunk = advanced, chunk
        self._state = _Progress()

    def run(self, source: str | None) -> bool:
        """Upload the blob unless it can be mounted from the repository `source`. Returns whether bytes were sent."""
        if source and self._mounted(source):
            return False
        failures = 0
        while True:
            before = self._state.sent
            try:
                self._transfer()
                return True
            except Transient:
                failures = 1 if self._state.sent > before else failures + 1
                if failures >= ATTEMPTS:
                    raise
            except Stopped:
                raise
            except RegistryError:
                if self._is_damaged():
                    raise RegistryError(f"{self._blob.path} is damaged. Remove it and try again.") from None
                raise
            self._session.pause(failures)
            if not self._resumed() and self._exists():
                return True

    def _exists(self) -> bool:
        """Whether the cut came after the last byte."""
        target = f"{self._repository}/blobs/{self._blob.digest}"
        return self._session.request("HEAD", target, [self._repository], expected=(200, 404)).status == 200

    def _mounted(self, source: str) -> bool:
        """Whether the registry took the blob from another repository. If not, it may begin an upload instead."""
        query = httpx2.QueryParams({"mount": self._blob.digest, "from": source})
        target, names = f"{self._repository}/blobs/uploads/?{query}", [self._repository, source]
        try:
            answer = self._session.request("POST", target, names, expected=(201, 202))
        except (Stopped, Transient):
            raise
        except RegistryError:  # such as no right to read the other repository; the upload tells what is wrong here
            return False
        if answer.status == 201:
            self._compare(answer)
            return True
        self._state.location = self._session.location(answer)
        return False

    def _transfer(self) -> None:
        state, blob = self._state, self._blob
        if state.location is None:
            answer = self._request("POST", f"{self._repository}/blobs/uploads/", expected=(202,))
            state.location, state.offset = self._session.location(answer), 0
        with blob.path.open("rb") as file:
            while state.offset < blob.size:
                file.seek(state.offset)
                self._patch(file.read(self._chunk))
        location = state.location.copy_merge_params({"digest": blob.digest})
        self._compare(self._request("PUT", location, expected=(201,)))

    def _patch(self, content: bytes) -> None:
        state = self._state
        assert state.location is not None
        end = state.offset + len(content)
        if not content or end > self._blob.size:
            raise RegistryError("the file has another size")
        headers = _BYTES | {"Content-Range": f"{state.offset}-{end - 1}"}
        answer = self._request("PATCH", state.location, headers=headers, content=content, expected=(202, 404, 416))
        if answer.status == 404:
            state.location = None  # it forgot the upload
        if answer.status != 202:
            raise self._interrupted()
        state.location = self._session.location(answer)
        self._has(self._received(answer, end), end)

    def _has(self, received: int, end: int) -> None:
        """Note what the registry has, which it must have been sent."""
        state = self._state
        if received > end:
            raise errors.invalid(self._session.host, "more bytes of an upload than it was sent")
        if received > state.sent:
            self._advanced(received - state.sent)
        moved = received > state.offset
        state.offset, state.sent = received, max(state.sent, received)
        if not moved:
            raise self._interrupted()

    def _received(self, answer: Answer, default: int) -> int:
        """Return the number of bytes that the registry has. `0-0` is also written for none."""
        text = answer.headers.get("range")
        if text is None:
            return default
        if not (found := _RANGE.fullmatch(text)):
            raise errors.invalid(self._session.host, "a range of bytes that is not valid")
        return int(found[1]) + 1 if int(found[1]) else 0

    def _resumed(self) -> bool:
        """Ask what the registry has. False if it no longer knows the upload, which then begins again."""
        state = self._state
        if state.location is None:
            return False
        try:
            answer = self._request("GET", state.location, expected=(200, 202, 204))
        except (Stopped, Transient):
            raise
        except RegistryError:
            state.location = None
            return False
        most = min(self._blob.size, state.offset + self._chunk)
        received = self._received(answer, 0)
        if received > most:
            raise errors.invalid(self._session.host, "more bytes of an upload than it was sent")
        state.offset = received
        if "location" in answer.headers:
            state.location = self._session.location(answer)
        return True

    def _request(
        self,
        method: str,
        target: str | httpx2.URL,
        *,
        headers: dict[str, str] | None = None,
        content: bytes = b"",
        expected: tuple[int, ...],
    ) -> Answer:
        """Only requests without effect on an upload are repeated by the session."""
        attempts = ATTEMPTS if method in ("GET", "POST") else 1
        names = [self._repository]
        return self._session.request(
            method, target, names, headers=headers, content=content, expected=expected, attempts=attempts
        )

    def _interrupted(self) -> Transient:
        return Transient(f"Registry {self._session.host} interrupts uploads to {self._repository}.")

    def _is_damaged(self) -> bool:
        found = hashlib.sha256()
        with self._blob.path.open("rb") as file:
            while piece := file.read(_PIECE):
                self._session.check_stopped()
                found.update(piece)
        return f"sha256:{found.hexdigest()}" != self._blob.digest

    def _compare(self, answer: Answer) -> None:
        given = answer.headers.get("docker-content-digest")
        if given is not None and given != self._blob.digest:
            raise errors.invalid(self._session.host, "another digest than that of the blob")
