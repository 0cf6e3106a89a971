"""One request and its response, with limits of size and time. A stop ends it at once.

Each request has its own thread, which is abandoned when the request is cancelled: no timeout of httpx2 ends the
resolution of a name, a response of one byte per minute, or endless interim responses. The thread ends with the process
at the latest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from stackwright.adapters.registry import errors
from stackwright.adapters.registry.errors import RegistryError, Stopped

LONGEST = 600  # timeout in seconds of a request
_SLOWEST = 28_000  # minimum bytes per second of a body that takes longer
_BODY = 1 << 20  # maximum bytes of a response; only tokens, manifests and messages are read
_PIECE = 256 << 10


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx2.Headers
    body: bytes
    url: httpx2.URL


@dataclass(frozen=True)
class Part:
    """A part of a file, as a body that is read while it is sent, again for each attempt.

    passed  called with the number of bytes of the body that the HTTP client took
    """

    path: Path
    offset: int
    size: int
    passed: Callable[[int], None] = lambda _: None

    def __len__(self) -> int:
        return self.size

    def pieces(self) -> Iterator[bytes]:
        """The body in pieces. Raises RegistryError for a file that is too short, or cannot be read."""
        done = 0
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                while done < self.size:
                    piece = file.read(min(_PIECE, self.size - done))
                    if not piece:
                        raise RegistryError(f"{self.path} is too short.")
                    yield piece
                    done += len(piece)
                    self.passed(done)
        except OSError as error:
            raise RegistryError(f"{self.path} cannot be read: {error.strerror}.") from None


Body = bytes | Part


class Exchanges:
    """Requests of several threads. host  host of the registry, for messages"""

    def __init__(self, host: str, client: httpx2.Client, longest: float = LONGEST) -> None:
        self._host, self._client, self._longest = host, client, longest
        self._stopped = False
        self._changed = threading.Condition()

    def stop(self) -> None:
        """End the requests and pauses of all threads."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def check_stopped(self) -> None:
        """Raises Stopped after a stop."""
        if self._stopped:
            raise Stopped(f"The requests to registry {self._host} were stopped.")

    def pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped, seconds)

    def send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], content: Body) -> Answer:
        """Send a request. Raises errors of httpx2, RegistryError for an invalid response, and Stopped."""
        self.check_stopped()
        ended: list[Answer | BaseException] = []
        left = threading.Event()

        def exchange() -> None:
            result: Answer | BaseException
            try:
                result = self._exchange(method, url, headers, content, left)
            except BaseException as error:
                result = error
            with self._changed:
                ended.append(result)
                self._changed.notify_all()

        threading.Thread(target=exchange, daemon=True).start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: ended or self._stopped, max(self._longest, len(content) / _SLOWEST))
        finally:
            left.set()
        if not ended:
            self.check_stopped()
            raise httpx2.ReadTimeout("no complete answer in time")
        if isinstance(ended[0], BaseException):
            raise ended[0]
        return ended[0]

    def _exchange(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], content: Body, left: threading.Event
    ) -> Answer:
        length = {} if method in ("GET", "HEAD") else {"Content-Length": str(len(content))}
        sent = _pieces(content, left) if isinstance(content, Part) else content or None
        request = self._client.build_request(method, url, headers={**headers, **length}, content=sent)
        response = self._client.send(request, stream=True, auth=None)
        try:
            encoding = response.headers.get("content-encoding", "identity")
            if method != "HEAD" and encoding != "identity":  # decompressed, it may have any size
                raise errors.invalid(url.host, "a compressed answer")
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _BODY:
                    raise errors.TooLarge(f"Registry {url.host} answered with more than it may.")
                _check(left)
        finally:
            response.close()
        return Answer(response.status_code, response.headers, bytes(body), url)


def _pieces(content: Part, left: threading.Event) -> Iterator[bytes]:
    """The pieces of a body; raises Stopped when its request is cancelled."""
    for piece in content.pieces():
        _check(left)
        yield piece


def _check(left: threading.Event) -> None:
    if left.is_set():
        raise Stopped("The request was given up.")
