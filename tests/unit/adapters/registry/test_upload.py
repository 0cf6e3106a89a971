"""Blobs and manifests: mounts, chunks, cuts at each chunk, and registries that answer with something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from support.registry.memory import HOST, PASSWORD, USER, MemoryRegistry, digest, error

CONTENT = bytes(range(256)) * 10
CHUNK = 600
CHUNKS = 5  # of the content
REPOSITORY, OTHER = "sw/nova", "sw/base"
Push = Callable[..., bool]


@pytest.fixture
def blob(tmp_path: Path) -> Blob:
    (tmp_path / "blob").write_bytes(CONTENT)
    return Blob(digest(CONTENT), len(CONTENT), tmp_path / "blob")


@pytest.fixture
def registry() -> MemoryRegistry:
    """It answered before: a cut is transient."""
    return MemoryRegistry()


@pytest.fixture
def client(registry: MemoryRegistry) -> Registry:
    session = Session(prefix(HOST), transport=registry.transport(), sleep=lambda _: None)
    session.request("HEAD", f"{REPOSITORY}/manifests/1", [REPOSITORY], expected=(404,))
    registry.requests.clear()
    return Registry(session, CHUNK)


@pytest.fixture
def push(client: Registry, blob: Blob) -> Push:
    def pushed(source: str | None = None, advanced: list[int] | None = None) -> bool:
        numbers = advanced if advanced is not None else []
        return client.push_blob(REPOSITORY, blob, source, numbers.append)

    return pushed


def test_a_blob_is_uploaded_in_chunks_with_progress(
    registry: MemoryRegistry, push: Push, client: Registry, blob: Blob
) -> None:
    advanced: list[int] = []
    assert not client.has_blob(REPOSITORY, blob.digest, blob.size)
    assert push(None, advanced)
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert advanced == [600, 600, 600, 600, 160]
    assert client.has_blob(REPOSITORY, blob.digest, blob.size)
    assert registry.methods() == ["HEAD", "POST", *["PATCH"] * CHUNKS, "PUT", "HEAD"]


def test_a_blob_of_another_repository_is_mounted(registry: MemoryRegistry, push: Push, blob: Blob) -> None:
    registry.blobs[OTHER] = {blob.digest: CONTENT}
    assert not push(OTHER)
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert registry.methods() == ["POST"]


def test_a_mount_that_is_not_done_becomes_the_upload(registry: MemoryRegistry, push: Push, blob: Blob) -> None:
    registry.blobs[OTHER] = {blob.digest: CONTENT}
    registry.mounts = False
    assert push(OTHER)
    assert registry.methods() == ["POST", *["PATCH"] * CHUNKS, "PUT"]


@pytest.mark.parametrize("status", [400, 403, 404, 405])
def test_a_mount_that_is_refused_is_followed_by_an_upload(
    registry: MemoryRegistry, push: Push, blob: Blob, status: int
) -> None:
    registry.blobs[OTHER] = {blob.digest: CONTENT}
    registry.hook = lambda request, body: error(status, "DENIED", "") if "mount" in request.url.params else None
    assert push(OTHER)
    assert registry.methods() == ["POST", "POST", *["PATCH"] * CHUNKS, "PUT"]


def upload_of(request: httpx2.Request) -> str:
    return request.url.path.rpartition("/")[2]


@pytest.mark.parametrize("part", [0, 0.5, 1], ids=["nothing", "half", "all"])
@pytest.mark.parametrize("number", range(1, CHUNKS + 1))
def test_an_upload_that_is_cut_continues_with_what_is_missing(
    registry: MemoryRegistry, push: Push, blob: Blob, number: int, part: float
) -> None:
    """The registry may have stored any part of the chunk."""
    patches = 0

    def cut(request: httpx2.Request, body: bytes) -> None:
        nonlocal patches
        patches += request.method == "PATCH"
        if request.method == "PATCH" and patches == number:
            registry.store(upload_of(request), body[: int(len(body) * part)])
            raise httpx2.WriteError("cut")

    registry.hook = cut
    advanced: list[int] = []
    assert push(None, advanced)
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert registry.received == len(CONTENT)
    assert sum(advanced) <= len(CONTENT)


@pytest.mark.parametrize("done", [True, False])
def test_a_cut_at_the_end_is_resumed_if_the_blob_is_not_there(
    registry: MemoryRegistry, push: Push, blob: Blob, done: bool
) -> None:
    registry.cut_first_put(done=done)
    assert push()
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert registry.requests_of("PUT") == (1 if done else 2)
    assert registry.received == len(CONTENT)


@pytest.mark.parametrize("number", range(2, CHUNKS + 1))
def test_an_upload_that_the_registry_forgot_begins_again(registry: MemoryRegistry, push: Push, number: int) -> None:
    patches = 0

    def forget(request: httpx2.Request, body: bytes) -> None:
        nonlocal patches
        patches += request.method == "PATCH"
        if request.method == "PATCH" and patches == number:
            registry.uploads.clear()

    registry.hook = forget
    advanced: list[int] = []
    assert push(None, advanced)
    assert registry.received == len(CONTENT) + (number - 1) * CHUNK
    assert sum(advanced) == len(CONTENT)


def test_an_upload_that_is_cut_again_and_again_ends(registry: MemoryRegistry, push: Push) -> None:
    """When four first chunks were cut, the registry may take the blob as a whole only."""

    def cut(request: httpx2.Request, body: bytes) -> None:
        if request.method in ("PATCH", "PUT"):
            raise httpx2.WriteError("cut")

    registry.hook = cut
    advanced: list[int] = []
    with pytest.raises(RegistryError, match="unreachable: the connection was closed"):
        push(None, advanced)
    assert [registry.requests_of(method) for method in ("PATCH", "PUT")] == [4, 4]
    assert sum(advanced) <= len(CONTENT)


def test_a_registry_that_begins_no_upload_is_not_asked_for_one_of_a_whole(registry: MemoryRegistry, push: Push) -> None:
    registry.hook = lambda request, body: error(503, "BUSY", "later") if request.method == "POST" else None
    with pytest.raises(RegistryError, match=r"status 503 \(BUSY: later\)"):
        push()
    assert registry.requests_of("POST") == 4 * 4


def test_an_upload_whose_later_chunks_are_cut_again_and_again_ends(registry: MemoryRegistry, push: Push) -> None:
    def cut(request: httpx2.Request, body: bytes) -> None:
        if request.method == "PATCH" and not request.headers["content-range"].startswith("0-"):
            raise httpx2.WriteError("cut")

    registry.hook = cut
    with pytest.raises(RegistryError, match="unreachable: the connection was closed"):
        push()
    assert [registry.requests_of(method) for method in ("PATCH", "PUT")] == [5, 0]


def test_an_upload_that_is_forgotten_again_and_again_ends(registry: MemoryRegistry, push: Push) -> None:
    count = 0

    def forget(request: httpx2.Request, body: bytes) -> None:
        nonlocal count
        count += request.method == "PATCH"
        if request.method == "PATCH" and count % 2 == 0:
            registry.uploads.clear()

    registry.hook = forget
    with pytest.raises(RegistryError, match=f"{HOST} interrupts uploads to {REPOSITORY}"):
        push()


def test_a_registry_that_stores_less_than_it_was_sent_gets_the_rest(registry: MemoryRegistry, push: Push) -> None:
    def less(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.method == "PATCH" and len(body) > 100:
            registry.store(upload_of(request), body[:100])
            return registry._at(202, REPOSITORY, upload_of(request))
        return None

    registry.hook = less
    assert push()
    assert registry.received == len(CONTENT)


@pytest.mark.parametrize("text", ["0-600", "0-99999999999999999999", "5-599", "0--1", "x", "0-0"])
def test_a_registry_that_claims_other_bytes_gets_the_whole_blob(
    registry: MemoryRegistry, push: Push, blob: Blob, text: str
) -> None:
    def lie(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.method not in ("PATCH", "GET"):
            return None
        headers = {"Location": str(request.url), "Range": text}
        return httpx2.Response(202, headers=headers)

    registry.hook = lie
    advanced: list[int] = []
    assert push(None, advanced)
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert registry.methods() == ["POST", "PATCH", "POST", "PUT"]
    assert sum(advanced) == len(CONTENT)


@pytest.mark.parametrize("text", ["0-1200", "bytes=5-", "0-99999999999999999999"])
def test_an_upload_about_which_a_registry_lies_after_a_cut_begins_again(
    registry: MemoryRegistry, push: Push, blob: Blob, text: str
) -> None:
    count = 0

    def cut(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        nonlocal count
        count += request.method == "PATCH"
        if request.method == "PATCH" and count == 1:
            raise httpx2.WriteError("cut")
        lies = httpx2.Response(204, headers={"Location": str(request.url), "Range": text})
        return lies if request.method == "GET" else None

    registry.hook = cut
    assert push()
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    assert registry.methods() == ["POST", "PATCH", "GET", "HEAD", "POST", *["PATCH"] * CHUNKS, "PUT"]


def test_an_upload_that_has_less_than_the_registry_tells_after_a_cut_begins_again(
    registry: MemoryRegistry, push: Push, blob: Blob
) -> None:
    """It tells the same each time."""
    first: list[str] = []
    patches = 0

    def lossy(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        nonlocal patches
        patches += request.method == "PATCH"
        first.extend([upload_of(request)] if request.method == "PATCH" and not first else [])
        if request.method == "PATCH" and patches == 2:
            raise httpx2.WriteError("cut")
        if upload_of(request) in first and patches >= 2:
            headers = {"Location": str(request.url), "Range": f"0-{CHUNK - 1}"}
            return httpx2.Response(416 if request.method == "PATCH" else 204, headers=headers)
        return None

    registry.hook = lossy
    assert push()
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT
    again = ["POST", *["PATCH"] * CHUNKS, "PUT"]
    assert registry.methods() == ["POST", "PATCH", "PATCH", "GET", "PATCH", "HEAD", *again]


def test_a_registry_need_not_say_what_it_has(registry: MemoryRegistry, push: Push, blob: Blob) -> None:
    def silent(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        answer = registry._answer(request, body)
        for name in ("range", "docker-content-digest"):
            answer.headers.pop(name, None)
        return answer

    registry.hook = silent
    assert push()
    assert registry.blobs[REPOSITORY][blob.digest] == CONTENT


def test_an_upload_at_another_host_has_no_credentials(registry: MemoryRegistry, blob: Blob) -> None:
    registry.login = "basic"
    storage: list[httpx2.Request] = []

    def elsewhere(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.url.host == "storage.test":
            storage.append(request)
            if request.method == "PATCH":
                return httpx2.Response(202, headers={"Location": str(request.url)})
            return httpx2.Response(201)
        if request.method == "POST" and "authorization" in request.headers:
            return httpx2.Response(202, headers={"Location": "https://storage.test/upload?signature=1"})
        return None

    registry.hook = elsewhere
    session = Session(prefix(HOST), Credentials("f", USER, PASSWORD), transport=registry.transport())
    assert Registry(session, CHUNK).push_blob(REPOSITORY, blob, None, lambda _: None)
    assert len(storage) == CHUNKS + 1
    assert not any("authorization" in request.headers for request in storage)
    assert dict(storage[-1].url.params) == {"signature": "1", "digest": blob.digest}


def changed(registry: MemoryRegistry, method: str, name: str, value: str) -> None:
    """The registry's answers to a method get another header."""

    def change(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        answer = registry._answer(request, body)
        if request.method == method and answer.status_code < 300:
            answer.headers[name] = value
        return answer

    registry.hook = change


OTHER_DIGEST = digest(b"other")


def test_wrong_digests_and_sizes_of_blobs_are_refused(
    registry: MemoryRegistry, client: Registry, push: Push, blob: Blob
) -> None:
    registry.blobs[REPOSITORY] = registry.blobs[OTHER] = {blob.digest: CONTENT}
    for name, value, part in [
        ("Docker-Content-Digest", OTHER_DIGEST, "another digest than"),
        ("Docker-Content-Digest", "sha256:../../x", "a digest that is not valid"),
        ("Content-Length", "7", "another size of"),
    ]:
        changed(registry, "HEAD", name, value)
        with pytest.raises(RegistryError, match=part):
            client.has_blob(REPOSITORY, blob.digest, blob.size)
    changed(registry, "POST", "Docker-Content-Digest", OTHER_DIGEST)
    with pytest.raises(RegistryError, match="another digest than that of the blob"):
        push(OTHER)
    changed(registry, "PUT", "Docker-Content-Digest", OTHER_DIGEST)
    with pytest.raises(RegistryError, match="another digest than that of the blob"):
        push()


def test_a_manifest_is_there_if_the_tag_names_its_digest(
    registry: MemoryRegistry, client: Registry, push: Push, blob: Blob
) -> None:
    content = b'{"config": {"digest": "%s"}, "layers": []}' % blob.digest.encode()
    kind = "application/vnd.oci.image.manifest.v1+json"
    assert not client.has_manifest(REPOSITORY, "1", digest(content), kind)
    with pytest.raises(RegistryError, match="MANIFEST_BLOB_UNKNOWN"):
        client.put_manifest(REPOSITORY, "1", content, kind)
    push()
    client.put_manifest(REPOSITORY, "1", content, kind)
    assert client.has_manifest(REPOSITORY, "1", digest(content), kind)
    assert not client.has_manifest(REPOSITORY, "1", OTHER_DIGEST, kind)
    assert {request.headers.get("content-type") for request in registry.requests if request.method == "PUT"} >= {kind}
    changed(registry, "PUT", "Docker-Content-Digest", OTHER_DIGEST)
    with pytest.raises(RegistryError, match="another digest than that of sw/nova:2"):
        client.put_manifest(REPOSITORY, "2", content, kind)
    changed(registry, "HEAD", "Docker-Content-Digest", "x")
    with pytest.raises(RegistryError, match="a digest that is not valid"):
        client.has_manifest(REPOSITORY, "1", digest(content), kind)


MANIFEST = b'{"config": {}, "layers": []}'
PLAIN = "application/vnd.oci.image.manifest.v1+json"


def test_a_manifest_whose_digest_the_registry_does_not_tell_is_compared(
    registry: MemoryRegistry, client: Registry
) -> None:
    def silent(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        answer = registry._answer(request, body)
        answer.headers.pop("docker-content-digest", None)
        return answer

    registry.manifests[REPOSITORY, "1"] = MANIFEST
    registry.hook = silent
    assert client.has_manifest(REPOSITORY, "1", digest(MANIFEST), PLAIN)
    assert not client.has_manifest(REPOSITORY, "1", OTHER_DIGEST, PLAIN)


def test_a_server_that_answers_200_to_everything_is_no_registry(registry: MemoryRegistry, client: Registry) -> None:
    registry.hook = lambda request, body: httpx2.Response(200)
    with pytest.raises(RegistryError, match=rf"answered PUT for {REPOSITORY} with status 200"):
        client.put_manifest(REPOSITORY, "1", MANIFEST, PLAIN)


def test_a_tag_of_something_too_large_is_another_manifest(registry: MemoryRegistry, client: Registry) -> None:
    """Such as an index, of which the registry does not tell the digest."""

    def silent(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        answer = registry._answer(request, body)
        answer.headers.pop("docker-content-digest", None)
        return answer

    registry.manifests[REPOSITORY, "1"] = b'{"manifests": []}' + b" " * (1 << 20)
    registry.hook = silent
    assert not client.has_manifest(REPOSITORY, "1", digest(MANIFEST), PLAIN)


def test_a_manifest_must_be_there_when_it_was_accepted(registry: MemoryRegistry, client: Registry) -> None:
    registry.hook = lambda request, body: httpx2.Response(201) if request.method == "PUT" else None
    with pytest.raises(RegistryError, match=f"{HOST} accepted the image {REPOSITORY}:1, but lacks it"):
        client.put_manifest(REPOSITORY, "1", MANIFEST, PLAIN)


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), CONTENT[:-1]], ids=["changed", "short"])
def test_a_damaged_file_is_named(push: Push, blob: Blob, content: bytes) -> None:
    blob.path.write_bytes(content)
    with pytest.raises(RegistryError, match=rf"{blob.path} is damaged. Remove it and try again"):
        push()
