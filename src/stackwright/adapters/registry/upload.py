"""Upload one blob: by a mount from another repository, in chunks, or as a whole.

After an interruption, the upload continues after the bytes that the registry reports. An upload that the registry no
longer knows, or reports inconsistently, is restarted. If a registry refuses or loses chunks, this blob and all later
ones are uploaded as a whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

from stackwright.adapters.registry import errors
from stackwright.adapters.registry.errors import Denied, RegistryError, Stopped, Transient
from stackwright.adapters.registry.exchange import Answer, Body, Part
from stackwright.adapters.registry.session import ATTEMPTS, Session

CHUNK = 16 << 20
_PIECE = 1 << 20
_RANGE = re.compile(r"(?:bytes=)?0-([0-9]{1,15})")
_LENGTH = re.compile(r"[0-9]{1,15}")
_BYTES = {"Content-Type": "application/octet-stream"}
_BUSY = (429, 503, 507)  # statuses of a registry that is overloaded or full, for which a whole blob would be worse
_TAKEN = (200, 201, 202, 204)  # statuses for a chunk; the specification has 202, ECR returns 201, Pulp 204


@dataclass(frozen=True)
class Blob:
    digest: str
    size: int
    path: Path


@dataclass
class Manner:
    """The form in which a registry accepts blobs. chunk  bytes; whole  whether it refused chunks"""

    chunk: int = CHUNK
    whole: bool = False


@dataclass
class _Progress:
    """location  address of the upload; None before it begins
    offset    bytes that the registry has
    sent      maximum of `offset`
    tried     whether a chunk was sent
    least     minimum bytes of a chunk except the last, by the registry
    asked     whether the offset is from a query after an interruption
    """

    location: httpx2.URL | None = None
    offset: int = 0
    sent: int = 0
    tried: bool = False
    least: int = 0
    asked: bool = False


class Upload:
    """The upload of one blob to one repository. `advanced` is called with the numbers of bytes that were sent."""

    def __init__(
        self, session: Session, repository: str, blob: Blob, advanced: Callable[[int], None], manner: Manner
    ) -> None:
        self._session, self._repository, self._blob = session, repository, blob
        self._advanced, self._manner = advanced, manner
        self._whole = manner.whole
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
            except Transient as error:
                failures = 1 if self._state.sent > before and not self._whole else failures + 1
                if failures >= ATTEMPTS:
                    if self._state.sent or self._whole or not self._state.tried or error.status in _BUSY:
                        raise
                    self._send_whole()  # not one chunk was accepted
                    failures = 0
                    continue
                least = error.pause
            except Stopped:
                raise
            except RegistryError as error:
                if self._is_damaged():
                    raise RegistryError(f"{self._blob.path} is damaged. Remove it and try again.") from None
                if self._whole or self._state.location is None or isinstance(error, Denied):
                    raise
                self._send_whole()
                continue
            self._session.pause(failures, least)
            if not self._resumed() and self._exists():
                return True

    def _send_whole(self) -> None:
        """Restart the upload without chunks."""
        self._whole = self._manner.whole = True
        self._state.location = None

    def _exists(self) -> bool:
        """Whether the registry has the blob, because the interruption came after the last byte."""
        target = f"{self._repository}/blobs/{self._blob.digest}"
        return self._session.request("HEAD", target, [self._repository], expected=(200, 404)).status == 200

    def _mounted(self, source: str) -> bool:
        """Mount the blob from another repository. Returns False if the registry refuses; it may begin an upload
        instead.
        """
        query = httpx2.QueryParams({"mount": self._blob.digest, "from": source})
        target, names = f"{self._repository}/blobs/uploads/?{query}", [self._repository, source]
        try:
            answer = self._session.request("POST", target, names, expected=(201, 202))
        except (Stopped, Transient):
            raise
        except RegistryError:  # such as a missing right to read the other repository; the upload reports other errors
            return False
        if answer.status == 201:
            self._compare(answer)
            return True
        self._begun(answer)
        return False

    def _begun(self, answer: Answer) -> None:
        state, least = self._state, answer.headers.get("oci-chunk-min-length", "")
        state.location, state.offset, state.asked = self._session.location(answer), 0, False
        state.least = int(least) if _LENGTH.fullmatch(least) else 0

    def _transfer(self) -> None:
        state, blob = self._state, self._blob
        if blob.path.stat().st_size != blob.size:
            raise RegistryError("the file has another size")
        if state.location is None:
            self._begun(self._request("POST", f"{self._repository}/blobs/uploads/", expected=(202,)))
        assert state.location is not None
        while not self._whole and state.offset < blob.size:
            self._patch(min(max(self._manner.chunk, state.least), blob.size - state.offset))
        location = state.location.copy_merge_params({"digest": blob.digest})
        content = Part(blob.path, 0, blob.size, self._passed) if self._whole else b""
        headers = _BYTES if self._whole else {}
        self._compare(self._request("PUT", location, headers=headers, content=content, expected=(201,)))

    def _patch(self, size: int) -> None:
        state = self._state
        assert state.location is not None
        state.tried, end = True, state.offset + size
        headers = _BYTES | {"Content-Range": f"{state.offset}-{end - 1}"}
        content = Part(self._blob.path, state.offset, size)
        answer = self._request("PATCH", state.location, headers=headers, content=content, expected=(*_TAKEN, 404, 416))
        if answer.status == 416 and not state.offset:
            raise self._refused("a chunk of this size")
        if answer.status == 404 or (answer.status == 416 and state.asked):
            state.location = None  # it lost the upload, or reported a wrong offset
        if answer.status not in _TAKEN:
            raise self._interrupted()
        if "location" in answer.headers:
            state.location = self._session.location(answer)
        received = self._received(answer, end)
        if received is None or not state.offset < received <= end:
            raise self._refused("the range of a chunk")
        state.offset, state.asked = received, False
        self._passed(received)

    def _passed(self, count: int) -> None:
        """Report the number of sent bytes. Bytes that are sent again are not reported again."""
        state = self._state
        if count > state.sent:
            self._advanced(count - state.sent)
            state.sent = count

    def _received(self, answer: Answer, default: int) -> int | None:
        """Return the number of bytes that the registry reports; None for an invalid range.

        Registries also return `0-0` for no bytes.
        """
        text = answer.headers.get("range")
        if text is None:
            return default
        found = _RANGE.fullmatch(text)
        return (int(found[1]) + 1 if int(found[1]) else 0) if found else None

    def _resumed(self) -> bool:
        """Query the received bytes. Returns False if the upload must restart: it is unknown or inconsistent."""
        state = self._state
        if state.location is None or self._whole:
            state.location = None
            return False
        try:
            answer = self._request("GET", state.location, expected=(200, 202, 204))
            location = self._session.location(answer) if "location" in answer.headers else state.location
        except (Stopped, Transient):
            raise
        except RegistryError:
            state.location = None
            return False
        most = min(self._blob.size, state.offset + max(self._manner.chunk, state.least))
        received = self._received(answer, 0)
        if received is None or received > most:
            state.location = None
            return False
        state.location, state.offset, state.asked = location, received, True
        return True

    def _request(
        self,
        method: str,
        target: str | httpx2.URL,
        *,
        headers: dict[str, str] | None = None,
        content: Body = b"",
        expected: tuple[int, ...],
    ) -> Answer:
        """Send a request. The session retries it only if it has no effect on an upload."""
        attempts = ATTEMPTS if method in ("GET", "POST") else 1
        names = [self._repository]
        return self._session.request(
            method, target, names, headers=headers, content=content, expected=expected, attempts=attempts
        )

    def _interrupted(self) -> Transient:
        return Transient(f"Registry {self._session.host} interrupts uploads to {self._repository}.")

    def _refused(self, what: str) -> RegistryError:
        return RegistryError(f"Registry {self._session.host} refuses {what} in an upload to {self._repository}.")

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
