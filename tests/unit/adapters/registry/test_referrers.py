"""Artifacts that refer to a manifest: by the API of registries that have it, else by an index that clients keep."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.referrers import Referrers
from stackwright.adapters.registry.session import Session
from support.registry.memory import HOST, MemoryRegistry, digest, error

REPOSITORY = "sw/nova"
SUBJECT = digest(b"the manifest of an image")
TAG = SUBJECT.replace(":", "-")
TYPE = "application/vnd.cyclonedx+json"
KIND = "application/vnd.oci.image.manifest.v1+json"


def artifact(text: str) -> tuple[dict[str, Any], bytes]:
    document = {
        "mediaType": KIND,
        "artifactType": TYPE,
        "config": {"digest": digest(b"{}")},
        "layers": [],
        "subject": {"digest": SUBJECT},
        "annotations": {"text": text},
    }
    content = json.dumps(document).encode()
    return {"mediaType": KIND, "digest": digest(content), "size": len(content), "artifactType": TYPE}, content


def registry(**more: Any) -> MemoryRegistry:
    return MemoryRegistry(blobs={REPOSITORY: {digest(b"{}"): b"{}"}}, **more)


def referrers(server: MemoryRegistry) -> Referrers:
    return Referrers(Session(prefix(f"{HOST}/sw"), transport=server.transport(), sleep=lambda _: None))


def listed(server: MemoryRegistry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(server.manifests[REPOSITORY, TAG])["manifests"]
    return found


def test_a_registry_with_the_api_gets_no_index() -> None:
    server = registry(referrers=True)
    described, content = artifact("one")
    client = referrers(server)
    assert not client.has(REPOSITORY, SUBJECT, described)
    client.attach(REPOSITORY, SUBJECT, described, content)
    assert client.has(REPOSITORY, SUBJECT, described)
    assert list(server.manifests) == [(REPOSITORY, described["digest"])]


def test_a_registry_without_it_gets_an_index_in_which_others_stay() -> None:
    server = registry()
    (one, first), (two, second) = artifact("one"), artifact("two")
    client = referrers(server)
    client.attach(REPOSITORY, SUBJECT, one, first)
    document = json.loads(server.manifests[REPOSITORY, TAG])
    document["annotations"] = {"of": "another client"}
    document["manifests"][0]["annotations"] = {"kept": "too"}
    server.manifests[REPOSITORY, TAG] = json.dumps(document).encode()
    client.attach(REPOSITORY, SUBJECT, two, second)
    assert listed(server) == [one | {"annotations": {"kept": "too"}}, two]
    assert json.loads(server.manifests[REPOSITORY, TAG])["annotations"] == {"of": "another client"}
    client.attach(REPOSITORY, SUBJECT, one, first)
    assert [each["digest"] for each in listed(server)] == [one["digest"], two["digest"]], "each once"


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(303, headers={"Location": "https://example.org/page"}),
        httpx2.Response(200, content=b"<html>"),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json={"manifests": ["x"]}),
        httpx2.Response(405),
        error(400, "UNSUPPORTED", "no"),
    ],
)
def test_any_other_answer_means_that_the_api_is_missing(answer: httpx2.Response) -> None:
    server = registry()
    server.hook = lambda request, body: (
        httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)
        if "/referrers/" in request.url.path
        else None
    )
    described, content = artifact("one")
    referrers(server).attach(REPOSITORY, SUBJECT, described, content)
    assert listed(server) == [described]
    assert all(request.url.host == HOST for request in server.requests)


def test_an_artifact_that_is_listed_but_lost_is_missing() -> None:
    """Garbage collectors delete manifests without a tag."""
    server = registry()
    described, content = artifact("one")
    client = referrers(server)
    client.attach(REPOSITORY, SUBJECT, described, content)
    del server.manifests[REPOSITORY, described["digest"]]
    assert not client.has(REPOSITORY, SUBJECT, described)


def test_an_artifact_that_is_not_listed_is_missing() -> None:
    """A killed push may have put it, but not listed it."""
    server = registry()
    described, content = artifact("one")
    server.manifests[REPOSITORY, described["digest"]] = content
    assert not referrers(server).has(REPOSITORY, SUBJECT, described)


def test_an_index_that_is_too_large_keeps_nobody_from_attaching() -> None:
    """Whoever may push could make it that large."""
    server = registry()
    server.manifests[REPOSITORY, TAG] = content = b'{"manifests": []}' + b" " * (1 << 20)
    described, manifest = artifact("one")
    client = referrers(server)
    assert not client.has(REPOSITORY, SUBJECT, described)
    client.attach(REPOSITORY, SUBJECT, described, manifest)
    assert client.has(REPOSITORY, SUBJECT, described)
    assert server.manifests[REPOSITORY, TAG] == content


def test_a_registry_that_lists_an_artifact_without_saying_so_gets_no_index() -> None:
    server = registry(referrers=True)

    def silent(request: httpx2.Request, body: bytes) -> httpx2.Response:
        answer = server._answer(request, body)
        answer.headers.pop("oci-subject", None)
        return answer

    server.hook = silent
    described, content = artifact("one")
    referrers(server).attach(REPOSITORY, SUBJECT, described, content)
    assert list(server.manifests) == [(REPOSITORY, described["digest"])]


@pytest.mark.parametrize("content", [b"none", b"[]", b"{}", b'{"manifests": {}}', b'{"manifests": [1]}', b"[" * 99999])
def test_a_tag_of_something_else_is_not_replaced(content: bytes) -> None:
    server = registry()
    server.manifests[REPOSITORY, TAG] = content
    described, manifest = artifact("one")
    with pytest.raises(RegistryError, match=f"{HOST}/{REPOSITORY}:{TAG} is not an index of artifacts"):
        referrers(server).attach(REPOSITORY, SUBJECT, described, manifest)
    assert server.manifests[REPOSITORY, TAG] == content


def test_a_registry_that_forgets_an_artifact_is_reported() -> None:
    server = registry(referrers=True)
    server.hook = lambda request, body: (
        httpx2.Response(200, json={"manifests": []}) if "/referrers/" in request.url.path else None
    )
    described, content = artifact("one")
    with pytest.raises(RegistryError, match="accepted an artifact in sw/nova, but does not list it"):
        referrers(server).attach(REPOSITORY, SUBJECT, described, content)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_other_failures_are_no_missing_api(status: int) -> None:
    server = registry()
    server.hook = lambda request, body: error(status, "NO", "no") if "/referrers/" in request.url.path else None
    described, _ = artifact("one")
    with pytest.raises(RegistryError):
        referrers(server).has(REPOSITORY, SUBJECT, described)


def paged(server: MemoryRegistry, pages: int, link: str = '<{path}?page={next}>; rel="next"') -> list[str]:
    """The API lists artifacts of others on all pages but the last, which is the memory's own. Returns the requests."""
    asked: list[str] = []

    def answer(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if "/referrers/" not in request.url.path:
            return None
        asked.append(str(request.url))
        following = int(request.url.params.get("page", 1)) + 1
        if following > pages:
            return None
        others = {"manifests": [{"digest": digest(b"other"), "mediaType": KIND}]}
        return httpx2.Response(200, json=others, headers={"Link": link.format(path=request.url.path, next=following)})

    server.hook = answer
    return asked


@pytest.mark.parametrize(
    "link",
    [
        '<{path}?page={next}>; rel="next"',
        "<{path}?page={next}>;rel=next",
        f'<https://{HOST}{{path}}?page={{next}}>; rel="next"',
        '<{path}?page=1>; rel="first", <{path}?page={next}>; rel="next"',
    ],
)
def test_an_artifact_on_a_later_page_is_found(link: str) -> None:
    server = registry(referrers=True)
    asked = paged(server, 3, link)
    described, content = artifact("one")
    client = referrers(server)
    assert not client.has(REPOSITORY, SUBJECT, described)
    client.attach(REPOSITORY, SUBJECT, described, content)
    assert client.has(REPOSITORY, SUBJECT, described)
    assert len(asked) == 9
    assert server.manifests.keys() == {(REPOSITORY, described["digest"])}


@pytest.mark.parametrize(
    ("pages", "link"),
    [
        (1000, '<{path}?page={next}>; rel="next"'),
        (1000, '<{path}>; rel="next"'),
        (2, '<https://other.test{path}>; rel="next"'),
        (2, f'<http://{HOST}{{path}}>; rel="next"'),
        (2, f'<https://user@{HOST}{{path}}>; rel="next"'),
        (2, '<https://[>; rel="next"'),
    ],
    ids=["many", "circle", "other host", "http", "user", "none"],
)
def test_a_list_that_is_not_read_to_its_end_keeps_nobody_from_attaching(pages: int, link: str) -> None:
    """Whoever may add artifacts could make it that long."""
    server = registry(referrers=True)
    asked = paged(server, pages, link)
    described, content = artifact("one")
    client = referrers(server)
    assert not client.has(REPOSITORY, SUBJECT, described), "the manifest of the artifact is missing"
    client.attach(REPOSITORY, SUBJECT, described, content)
    assert client.has(REPOSITORY, SUBJECT, described)
    assert len(asked) <= 3 * 32
    assert {request.url.host for request in server.requests} == {HOST}
    assert {request.url.scheme for request in server.requests} == {"https"}


def test_a_page_that_is_too_large_keeps_nobody_from_attaching() -> None:
    server = registry(referrers=True)
    server.hook = lambda request, body: (
        httpx2.Response(200, content=b" " * (2 << 20)) if "/referrers/" in request.url.path else None
    )
    described, content = artifact("one")
    client = referrers(server)
    assert not client.has(REPOSITORY, SUBJECT, described)
    client.attach(REPOSITORY, SUBJECT, described, content)
    assert client.has(REPOSITORY, SUBJECT, described)
