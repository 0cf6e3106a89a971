"""Uploads and tags with the habits of GHCR, ECR, Quay and Harbor; and pauses for which registries ask."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest

from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from support.registry.memory import HOST, PASSWORD, USER, MemoryRegistry, digest, error
from support.registry.served import served
from support.registry.vendors import Ecr, Ghcr, Harbor, Quay

CONTENT = bytes(range(256)) * 10
CHUNK, CHUNKS = 600, 5
NAME = "sw/nova"
KIND = "application/vnd.oci.image.manifest.v1+json"
LOGIN = Credentials("auth.json", USER, PASSWORD)


@pytest.fixture
def blob(tmp_path: Path) -> Blob:
    return blob_of(tmp_path, CONTENT)


def blob_of(folder: Path, content: bytes) -> Blob:
    path = folder / digest(content)
    path.write_bytes(content)
    return Blob(digest(content), len(content), path)


def session(registry: MemoryRegistry, pauses: list[float] | None = None) -> Session:
    """It answered before: a cut is transient."""
    found = pauses if pauses is not None else []
    made = Session(prefix(HOST), LOGIN, transport=registry.transport(), sleep=found.append)
    made.request("HEAD", f"{NAME}/manifests/0", [NAME], expected=(404,))
    registry.requests.clear()
    return made


def push(client: Registry, blob: Blob, advanced: list[int] | None = None) -> bool:
    numbers = advanced if advanced is not None else []
    return client.push_blob(NAME, blob, None, numbers.append)


@pytest.mark.parametrize("login", ["none", "bearer"])
@pytest.mark.parametrize("made", [MemoryRegistry, lambda login: Ghcr(login, largest=400), Ecr, Quay, Harbor])
def test_each_registry_takes_blobs_of_any_size(made: type[MemoryRegistry], login: str, tmp_path: Path) -> None:
    registry = made(login)
    client = Registry(session(registry), CHUNK)
    for size in (0, 1, 300, CHUNK, CHUNK + 1, len(CONTENT)):
        blob, advanced = blob_of(tmp_path, CONTENT[:size]), list[int]()
        assert push(client, blob, advanced)
        assert registry.blobs[NAME][blob.digest] == CONTENT[:size]
        assert sum(advanced) == size
    assert registry.received <= 2 * sum(map(len, registry.blobs[NAME].values()))


def test_a_registry_that_refuses_chunks_is_asked_once(tmp_path: Path, blob: Blob) -> None:
    registry = Ghcr(largest=400)
    client = Registry(session(registry), CHUNK)
    assert push(client, blob)
    assert registry.methods() == ["POST", "PATCH", "POST", "PUT"]
    assert push(client, blob_of(tmp_path, CONTENT[1:]))
    assert registry.methods() == ["POST", "PUT"]


def test_a_registry_that_loses_chunks_gets_the_whole_blob(blob: Blob) -> None:
    registry = Ecr()
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.methods() == ["POST", "PATCH", "PATCH", "POST", "PUT"]


def test_a_registry_that_assembles_chunks_wrongly_gets_the_whole_blob(blob: Blob) -> None:
    registry = MemoryRegistry()

    def swap(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.method != "PATCH":
            return None
        registry.store(request.url.path.rpartition("/")[2], bytes(len(body)))
        return httpx2.Response(202)

    registry.hook = swap
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.methods() == ["POST", *["PATCH"] * CHUNKS, "PUT", "POST", "PUT"]
    assert registry.blobs[NAME][blob.digest] == CONTENT


@pytest.mark.parametrize("status", [400, 405, 411, 415, 416, 501])
def test_any_refusal_of_a_chunk_leads_to_the_whole_blob(blob: Blob, status: int) -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: error(status, "UNSUPPORTED", "no") if request.method == "PATCH" else None
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.methods() == ["POST", "PATCH", "POST", "PUT"]


@pytest.mark.parametrize("status", [404, 500])
def test_a_registry_that_never_takes_a_chunk_gets_the_whole_blob(blob: Blob, status: int) -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: error(status, "UNKNOWN", "no") if request.method == "PATCH" else None
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.requests_of("PATCH") == 4
    assert registry.blobs[NAME][blob.digest] == CONTENT


@pytest.mark.parametrize("status", [401, 403, 413])
def test_a_denial_is_none_of_chunks(blob: Blob, status: int) -> None:
    registry = MemoryRegistry()
    header = {"WWW-Authenticate": 'Basic realm="x"'}
    registry.hook = lambda request, body: httpx2.Response(status, headers=header) if request.method == "PATCH" else None
    with pytest.raises(RegistryError):
        push(Registry(session(registry), CHUNK), blob)
    assert registry.requests_of("PUT") == 0


@pytest.mark.parametrize(
    ("status", "headers", "chunks"), [(429, {"Retry-After": "301"}, 1), (429, {}, 4), (503, {}, 4), (507, {}, 4)]
)
def test_a_registry_that_is_busy_or_full_does_not_get_the_whole_blob(
    blob: Blob, status: int, headers: dict[str, str], chunks: int
) -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, _: httpx2.Response(status, headers=headers) if request.method == "PATCH" else None
    with pytest.raises(RegistryError, match=f"answered PATCH for {NAME} with status {status}"):
        push(Registry(session(registry), CHUNK), blob)
    methods = registry.methods()
    assert (methods.count("POST"), methods.count("PATCH"), methods.count("PUT")) == (1, chunks, 0)


def test_a_registry_that_refuses_the_whole_blob_too_is_reported(blob: Blob) -> None:
    registry = Ghcr(largest=400)
    registry.hook = lambda request, body: error(400, "SIZE_INVALID", "too long") if request.method == "PUT" else None
    with pytest.raises(RegistryError, match=r"status 400 \(SIZE_INVALID: too long\)"):
        push(Registry(session(registry), CHUNK), blob)
    assert registry.requests_of("PUT") == 1


@pytest.mark.parametrize("done", [True, False])
def test_a_whole_blob_whose_upload_is_cut_is_sent_again_if_it_is_not_there(blob: Blob, done: bool) -> None:
    registry = Ghcr(largest=400)
    registry.cut_first_put(done=done)
    advanced: list[int] = []
    assert push(Registry(session(registry), CHUNK), blob, advanced)
    again = [] if done else ["POST", "PUT"]
    assert registry.methods() == ["POST", "PATCH", "POST", "PUT", "HEAD", *again]
    assert sum(advanced) == len(CONTENT)


def test_a_whole_blob_is_read_while_it_is_sent(blob: Blob, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a second time, after a refused login."""
    monkeypatch.setattr("stackwright.adapters.registry.exchange._PIECE", 100)
    pieces: list[int] = []
    refusals = iter([401])

    class Unread(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method != "PUT":
                status = {"POST": 202, "PATCH": 405}.get(request.method, 404)
                return httpx2.Response(status, headers={"Location": "/v2/sw/nova/blobs/uploads/1"})
            assert isinstance(request.stream, httpx2.SyncByteStream)
            pieces.extend(len(piece) for piece in request.stream)
            return httpx2.Response(next(refusals, 201), headers={"WWW-Authenticate": 'Basic realm="x"'})

    made = Session(prefix(HOST), LOGIN, transport=Unread(), sleep=lambda _: None)
    assert push(Registry(made, CHUNK), blob)
    assert (sum(pieces), max(pieces)) == (2 * len(CONTENT), 100)


@pytest.mark.parametrize(
    ("made", "largest"),
    [(MemoryRegistry, None), (Ecr, None), (Quay, None), (MemoryRegistry, 400)],
    ids=["distribution", "ecr", "quay", "cuts"],
)
def test_blobs_are_uploaded_by_sockets(
    made: type[MemoryRegistry], largest: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also to a registry that refuses a chunk, and closes the connection, while it is sent."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    registry, blob = made(), blob_of(tmp_path, CONTENT * 1000)
    with served(registry, largest) as host:
        opened = Session(prefix(host), plain_http=True, sleep=lambda _: None)
        with closing(opened):
            client = Registry(opened, 1 << 20)
            assert not client.has_blob(NAME, blob.digest, blob.size)
            assert push(client, blob)
            assert client.has_blob(NAME, blob.digest, blob.size)
    assert digest(registry.blobs[NAME][blob.digest]) == blob.digest


@pytest.mark.parametrize(
    ("least", "chunks"), [("700", 4), ("100", 5), ("99999999", 1), ("x", 5), ("-7", 5), ("9" * 30, 5)]
)
def test_chunks_have_the_least_size_that_the_registry_asks_for(blob: Blob, least: str, chunks: int) -> None:
    registry = MemoryRegistry()

    def ask(request: httpx2.Request, body: bytes) -> httpx2.Response:
        answer = registry._answer(request, body)
        if request.method == "POST":
            answer.headers["OCI-Chunk-Min-Length"] = least
        return answer

    registry.hook = ask
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.methods() == ["POST", *["PATCH"] * chunks, "PUT"]


@pytest.mark.parametrize("part", [0, 0.5, 1], ids=["nothing", "half", "all"])
@pytest.mark.parametrize("number", range(1, CHUNKS + 1))
@pytest.mark.parametrize("made", [Ecr, Quay, Harbor])
def test_an_upload_that_is_cut_ends_with_each_registry(
    made: type[MemoryRegistry], blob: Blob, number: int, part: float
) -> None:
    registry, patches = made(), 0

    def cut(request: httpx2.Request, body: bytes) -> None:
        nonlocal patches
        patches += request.method == "PATCH"
        if request.method == "PATCH" and patches == number:
            registry.store(request.url.path.rpartition("/")[2], body[: int(len(body) * part)])
            raise httpx2.WriteError("cut")

    registry.hook = cut
    advanced: list[int] = []
    assert push(Registry(session(registry), CHUNK), blob, advanced)
    assert registry.blobs[NAME][blob.digest] == CONTENT
    assert sum(advanced) <= len(CONTENT)


def test_a_chunk_without_a_new_address_is_followed_by_one_to_the_same(blob: Blob) -> None:
    registry = MemoryRegistry()

    def silent(request: httpx2.Request, body: bytes) -> httpx2.Response:
        answer = registry._answer(request, body)
        if request.method == "PATCH":
            del answer.headers["location"]
        return answer

    registry.hook = silent
    assert push(Registry(session(registry), CHUNK), blob)
    assert registry.methods() == ["POST", *["PATCH"] * CHUNKS, "PUT"]


# ---- immutable tags


def manifest(text: str) -> bytes:
    return (
        f'{{"config": {{"digest": "{digest(CONTENT)}"}}, "layers": [], "annotations": {{"text": "{text}"}}}}'.encode()
    )


@pytest.mark.parametrize("immutable", [(400, "TAG_INVALID"), (403, "DENIED"), (409, "CONFLICT"), (412, "PRECONDITION")])
def test_an_immutable_tag_keeps_its_manifest(immutable: tuple[int, str]) -> None:
    registry = Harbor(immutable=immutable, blobs={NAME: {digest(CONTENT): CONTENT}})
    client = Registry(session(registry))
    for _ in range(2):
        client.put_manifest(NAME, "1", manifest("one"), KIND)
    named = digest(manifest("one"))
    with pytest.raises(RegistryError, match=rf"{immutable[1]}.* tag sw/nova:1 names another manifest there, {named}"):
        client.put_manifest(NAME, "1", manifest("two"), KIND)
    assert registry.manifests[NAME, "1"] == manifest("one")


def test_a_tag_that_another_push_made_meanwhile_is_success() -> None:
    registry = Harbor(blobs={NAME: {digest(CONTENT): CONTENT}})

    def faster(request: httpx2.Request, body: bytes) -> None:
        if request.method == "PUT":
            registry.manifests[NAME, "1"] = manifest("one")

    client = Registry(session(registry))
    registry.hook = faster
    client.put_manifest(NAME, "1", manifest("one"), KIND)
    assert registry.requests_of("PUT") == 1


def test_a_refusal_of_a_new_tag_is_reported_as_it_is() -> None:
    registry = MemoryRegistry()
    with pytest.raises(RegistryError, match=r"MANIFEST_BLOB_UNKNOWN: blob unknown to registry\)\.$"):
        Registry(session(registry)).put_manifest(NAME, "1", manifest("one"), KIND)


# ---- pauses


DATE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def overloaded(registry: MemoryRegistry, headers: dict[str, str], status: int) -> None:
    answers = iter([httpx2.Response(status, headers=headers)])
    registry.hook = lambda request, body: next(answers, None)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("17", 17),
        ("0", 1),
        ("300", 300),
        (format_datetime(DATE + timedelta(seconds=40), usegmt=True), 40),
        (format_datetime(DATE - timedelta(days=1), usegmt=True), 1),
        ("soon", 1),
        ("-5", 1),
        ("", 1),
    ],
)
def test_a_pause_is_as_long_as_the_registry_asks(text: str, pause: float, status: int) -> None:
    registry, pauses = MemoryRegistry(), list[float]()
    made = session(registry, pauses)
    overloaded(registry, {"Retry-After": text, "Date": format_datetime(DATE)}, status)
    assert made.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,)).status == 404
    assert pauses == [pause]


def test_a_timeout_of_a_proxy_is_transient() -> None:
    registry, pauses = MemoryRegistry(), list[float]()
    made = session(registry, pauses)
    overloaded(registry, {}, 408)
    assert made.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,)).status == 404
    assert pauses == [1]


def test_a_pause_until_a_date_is_by_our_clock_if_the_registry_does_not_tell_its_own() -> None:
    registry, pauses = MemoryRegistry(), list[float]()
    made = session(registry, pauses)
    overloaded(registry, {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=250))}, 503)
    assert made.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,)).status == 404
    assert 100 < pauses[0] <= 250, "and not the usual one"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT", format_datetime(DATE)),
        (format_datetime(DATE), f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT"),
    ],
)
def test_a_pause_until_an_impossible_date_is_the_usual_one(text: str, date: str) -> None:
    registry, pauses = MemoryRegistry(), list[float]()
    made = session(registry, pauses)
    overloaded(registry, {"Retry-After": text, "Date": date}, 503)
    assert made.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,)).status == 404
    assert pauses == [1]


@pytest.mark.parametrize("text", ["301", "9" * 40, format_datetime(DATE + timedelta(days=9), usegmt=True)])
def test_a_pause_that_is_too_long_is_left_to_the_user(text: str) -> None:
    registry, pauses = MemoryRegistry(), list[float]()
    made = session(registry, pauses)
    overloaded(registry, {"Retry-After": text, "Date": format_datetime(DATE)}, 429)
    with pytest.raises(RegistryError, match=r"status 429, and asks for a pause of \d+ seconds. Run the same command"):
        made.request("HEAD", f"{NAME}/manifests/1", [NAME], expected=(404,))
    assert not pauses


def test_an_upload_pauses_as_long_as_the_registry_asks(blob: Blob) -> None:
    registry, pauses, count = MemoryRegistry(), list[float](), 0
    made = session(registry, pauses)

    def busy(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        nonlocal count
        count += request.method == "PATCH"
        wait = request.method == "PATCH" and count == 2
        return httpx2.Response(503, headers={"Retry-After": "33"}) if wait else None

    registry.hook = busy
    assert push(Registry(made, CHUNK), blob)
    assert pauses == [33]
    assert registry.received == len(CONTENT)
