"""A stop ends requests, pauses and logins in progress at once, and a request has a limit, whatever a server does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import pytest

from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.errors import RegistryError, Stopped
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.adapters.registry.upload import Manner, Upload
from support.registry.memory import AUTH, HOST, PASSWORD, USER, MemoryRegistry, digest

NAME = "sw/nova"
SOON = 5  # seconds; a server that does not answer takes PATIENCE
PATIENCE = 10
LOGIN = Credentials("auth.json", USER, PASSWORD)


class Silent:
    """A hook of requests that get no answer, as long as the test runs."""

    def __init__(self, host: str = HOST) -> None:
        self.host = host
        self.asked, self.over = threading.Event(), threading.Event()

    def __call__(self, request: httpx2.Request, body: bytes) -> None:
        if request.url.host == self.host:
            self.asked.set()
            self.over.wait(PATIENCE)


@pytest.fixture
def silent() -> Iterator[Silent]:
    hook = Silent()
    yield hook
    hook.over.set()


def ask(session: Session) -> object:
    return session.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,))


def stopped(session: Session, calls: list[Callable[[], object]], asked: threading.Event) -> float:
    """Stop the session when it has asked. Returns the seconds until all calls ended, which must be stopped."""
    with ThreadPoolExecutor(len(calls)) as pool:
        running = [pool.submit(call) for call in calls]
        assert asked.wait(PATIENCE)
        start = time.monotonic()
        session.stop()
        for call in running:
            with pytest.raises(Stopped, match="were stopped"):
                call.result()
        return time.monotonic() - start


def test_a_stop_ends_a_request_without_an_answer(silent: Silent) -> None:
    session = Session(prefix(HOST), transport=MemoryRegistry(hook=silent).transport())
    assert stopped(session, [partial(ask, session)], silent.asked) < SOON


def test_a_stop_ends_an_answer_without_an_end() -> None:
    asked = threading.Event()
    ended = threading.Event()

    class Endless(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            asked.set()
            while not ended.wait(0.01):
                yield b"."

        def close(self) -> None:
            ended.set()

    transport = httpx2.MockTransport(lambda _: httpx2.Response(404, stream=Endless()))
    session = Session(prefix(HOST), transport=transport)
    assert stopped(session, [partial(ask, session)], asked) < SOON
    assert ended.wait(SOON)  # the request is given up, too


def test_a_stop_ends_all_threads_that_wait_for_a_token(silent: Silent) -> None:
    silent.host = AUTH
    session = Session(prefix(HOST), LOGIN, transport=MemoryRegistry("bearer", hook=silent).transport())
    assert stopped(session, [partial(ask, session)] * 3, silent.asked) < SOON


def test_a_stop_ends_a_pause() -> None:
    session = Session(prefix(HOST), transport=MemoryRegistry().transport())
    with ThreadPoolExecutor(1) as pool:
        paused = pool.submit(session.pause, 5)  # 16 seconds
        session.stop()
        paused.result(PATIENCE)


def test_a_stopped_session_sends_nothing_more() -> None:
    registry = MemoryRegistry()
    session = Session(prefix(HOST), transport=registry.transport())
    session.stop()
    with pytest.raises(Stopped):
        ask(session)
    assert not registry.requests


def test_a_stop_is_no_reason_to_suspect_the_file_of_an_upload(silent: Silent, tmp_path: Path) -> None:
    """Its digest would take long."""
    blob = Blob(digest(b"other"), 4, tmp_path / "blob")
    blob.path.write_bytes(b"blob")
    session = Session(prefix(HOST), transport=MemoryRegistry(hook=silent).transport())
    call = partial(Registry(session).push_blob, NAME, blob, None, lambda _: None)
    assert stopped(session, [call], silent.asked) < SOON


def test_a_stop_ends_the_digest_of_a_file(tmp_path: Path) -> None:
    blob = Blob(digest(b"blob"), 4, tmp_path / "blob")
    blob.path.write_bytes(b"blob")
    session = Session(prefix(HOST), transport=MemoryRegistry().transport())
    upload = Upload(session, NAME, blob, lambda _: None, Manner())
    assert not upload._is_damaged()
    session.stop()
    with pytest.raises(Stopped):
        upload._is_damaged()


def test_a_request_has_a_limit(silent: Silent) -> None:
    session = Session(prefix(HOST), transport=MemoryRegistry(hook=silent).transport(), longest=0.2)
    start = time.monotonic()
    with pytest.raises(RegistryError, match="unreachable: it did not answer in time"):
        ask(session)
    assert time.monotonic() - start < SOON


def test_the_limit_of_a_request_is_longer_for_a_large_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackwright.adapters.registry.exchange._SLOWEST", 100)

    def slow(request: httpx2.Request, body: bytes) -> httpx2.Response:
        time.sleep(0.5)
        return httpx2.Response(201)

    session = Session(prefix(HOST), transport=MemoryRegistry(hook=slow).transport(), longest=0.01)
    sent = session.request("PUT", f"{NAME}/manifests/1", [NAME], content=bytes(6000), expected=(201,))
    assert sent.status == 201
