"""Pushes to a registry in memory: what is sent, in which order, after kills and a second time; and the command."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from typer.testing import CliRunner

from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.cli.images.images import app
from stackwright.local.commands import quiet
from stackwright.local.image import images
from stackwright.local.image.published import connection, push
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage, Descriptor
from stackwright.local.image.published.push import Push, Pushed
from support.registry.archives import built
from support.registry.memory import HOST, PASSWORD, USER, MemoryRegistry, digest, error
from support.registry.vendors import Ecr, Ghcr, Harbor, Quay
from sweep import sampled

PREFIX = prefix(f"{HOST}/sw")
BASE, NOVA, ETCD = (name * 5000 for name in (b"base", b"nova", b"etcd"))
WRITES = ("POST", "PATCH", "PUT")
TITLES = ["base:1", "nova:1", "glance:1", "etcd:1"]


class Killed(BaseException):
    """The end of the process."""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Three images share a layer; one has nothing in common with them."""
    made = Layout(tmp_path / "published")
    based = partial(built, tmp_path, known=1)
    found = [built(tmp_path, "base", BASE), based("nova", BASE, NOVA), based("glance", BASE, b"glance")]
    made.add([*found, built(tmp_path, "etcd", ETCD)], quiet)
    return made


def wanted(layout: Layout, titles: Iterable[str] = TITLES) -> list[CompleteImage]:
    return [image for title in titles if (image := layout.image(title))]


def pushed(layout: Layout, registry: MemoryRegistry, titles: Iterable[str] = TITLES, **more: Any) -> list[Pushed]:
    session = Session(PREFIX, transport=registry.transport(), sleep=lambda _: None)
    return Push(layout, PREFIX, session, more.pop("report", quiet), **more).run(wanted(layout, titles))


def assert_complete(registry: MemoryRegistry, layout: Layout) -> None:
    """Every image is in the registry, with the bytes of the layout."""
    for image in wanted(layout):
        name, _, tag = image.title.partition(":")
        assert digest(registry.manifests[f"sw/{name}", tag]) == image.descriptor.digest
        for blob in parts(image):
            assert registry.blobs[f"sw/{name}"][blob.digest] == layout.path(blob.digest).read_bytes()
        listed = json.loads(registry.manifests[f"sw/{name}", image.descriptor.digest.replace(":", "-")])["manifests"]
        assert listed == [image.sbom.descriptor.dump()]
        assert digest(registry.manifests[f"sw/{name}", listed[0]["digest"]]) == listed[0]["digest"]


def parts(image: CompleteImage) -> tuple[Descriptor, ...]:
    """All blobs but manifests, also those of the bill of materials."""
    return (*image.manifest.blobs, *image.sbom.manifest.blobs)


def blobs(layout: Layout) -> dict[str, int]:
    found = [blob for image in wanted(layout) for blob in parts(image)]
    return {blob.digest: blob.size for blob in found}


def test_each_blob_is_sent_once_and_a_second_push_only_asks(layout: Layout) -> None:
    registry = MemoryRegistry()
    first = pushed(layout, registry)
    assert_complete(registry, layout)
    assert registry.received == sum(blobs(layout).values())
    assert [each.reference for each in first] == [f"{HOST}/sw/{title}" for title in TITLES]
    assert all(each.new for each in first)
    assert sum(each.sent for each in first) == registry.received
    assert first[0].digest == digest(registry.manifests["sw/base", "1"])
    registry.methods()
    second = pushed(layout, registry)
    methods, blobs_of_images = registry.methods(), sum(len(parts(image)) for image in wanted(layout))
    assert methods.count("HEAD") == 2 * len(TITLES) + blobs_of_images
    assert methods.count("GET") == len(methods) - methods.count("HEAD") == 2 * len(TITLES)  # the lists of artifacts
    assert [(each.reference, each.digest) for each in second] == [(each.reference, each.digest) for each in first]
    assert not any(each.new or each.sent for each in second)


def test_a_blob_that_the_registry_lost_is_sent_again(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry)
    lost = wanted(layout, ["base:1"])[0].manifest.layers[0]
    for repository in ("sw/base", "sw/nova"):
        del registry.blobs[repository][lost.digest]
    before = registry.received
    again = pushed(layout, registry)
    assert_complete(registry, layout)
    assert [each.name for each in again if each.new] == ["base", "nova"]
    assert registry.received == before  # glance still has it


def test_a_blob_that_is_in_no_repository_is_sent_once(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry)
    lost = wanted(layout, ["base:1"])[0].manifest.layers[0]
    for stored in registry.blobs.values():
        stored.pop(lost.digest, None)
    before = registry.received
    assert sum(each.new for each in pushed(layout, registry)) == 3
    assert_complete(registry, layout)
    assert registry.received - before == lost.size


def test_shared_layers_are_mounted_from_the_image_that_was_pushed_before(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry, ["base:1"])
    before = registry.received
    registry.requests.clear()
    pushed(layout, registry)
    mounts = [request.url.params for request in registry.requests if "mount" in request.url.params]
    base = wanted(layout, ["base:1"])[0]
    layer, empty = base.manifest.layers[0].digest, base.sbom.manifest.config.digest
    assert sorted((each["mount"], each["from"]) for each in mounts) == sorted(
        [(layer, "sw/base")] * 2 + [(empty, "sw/base")] * 3
    )
    assert registry.received == sum(blobs(layout).values())
    assert before == sum(blob.size for blob in parts(base))


def test_a_registry_that_mounts_nothing_gets_shared_layers_again(layout: Layout) -> None:
    registry = MemoryRegistry(mounts=False)
    pushed(layout, registry)
    assert_complete(registry, layout)
    base = wanted(layout, ["base:1"])[0]
    again = 2 * base.manifest.layers[0].size + 3 * base.sbom.manifest.config.size
    assert registry.received == sum(blobs(layout).values()) + again


def test_manifests_follow_all_blobs(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry)
    paths = [request.url.path for request in registry.requests if request.method in WRITES]
    first = next(number for number, path in enumerate(paths) if "/manifests/" in path)
    assert all("/manifests/" in path for path in paths[first:])


def writes(layout: Layout) -> int:
    registry = MemoryRegistry()
    pushed(layout, registry, chunk=100)
    return sum(method in WRITES for method in registry.methods())


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_push_that_is_killed_at_any_write_continues(layout: Layout, after: bool) -> None:
    """Blobs that the registry has are not sent again; of each upload in progress, all at most once more."""
    total = sum(blobs(layout).values())
    for number in sampled(range(1, writes(layout) + 1)):
        registry = MemoryRegistry()
        count = 0

        def die(
            request: httpx2.Request, body: bytes, registry: MemoryRegistry = registry, number: int = number
        ) -> httpx2.Response | None:
            nonlocal count
            count += request.method in WRITES
            if request.method in WRITES and count >= number:
                if after and count == number:
                    registry._answer(request, body)
                raise Killed
            return None

        registry.hook = die
        with pytest.raises(Killed):
            pushed(layout, registry, chunk=100)
        registry.disconnect()
        lost = sum(map(len, registry.uploads.values()))
        kept = {name for stored in registry.blobs.values() for name in stored}
        sent = registry.received
        registry.hook = lambda request, body: None
        pushed(layout, registry, chunk=100)
        assert_complete(registry, layout)
        assert registry.received == total + lost
        assert registry.received - sent == total - sum(blobs(layout)[name] for name in kept)


def test_the_first_failure_ends_the_push_before_any_manifest(layout: Layout) -> None:
    registry = MemoryRegistry()

    def deny(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        return error(403, "DENIED", "read only") if request.method == "PATCH" else None

    registry.hook = deny
    with pytest.raises(RegistryError, match=r"denies access to sw/\w+ \(DENIED: read only\)"):
        pushed(layout, registry)
    assert not registry.manifests
    assert registry.methods().count("PATCH") <= 4


def test_a_registry_that_lists_artifacts_itself_gets_no_index(layout: Layout) -> None:
    registry = MemoryRegistry(referrers=True)
    pushed(layout, registry)
    assert not [tag for _, tag in registry.manifests if tag.startswith("sha256-")]
    registry.methods()
    pushed(layout, registry)
    assert set(registry.methods()) == {"HEAD", "GET"}


def test_a_bill_of_materials_that_the_registry_lost_is_pushed_again(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry)
    image = wanted(layout, ["etcd:1"])[0]
    del registry.manifests["sw/etcd", image.sbom.descriptor.digest]
    assert [each.name for each in pushed(layout, registry) if each.new] == ["etcd"]
    assert_complete(registry, layout)


def test_a_registry_that_takes_no_artifacts_has_the_images(layout: Layout) -> None:
    registry = MemoryRegistry()

    def refuse(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        refused = request.method == "PUT" and b'"subject"' in body
        return error(400, "MANIFEST_INVALID", "unknown type") if refused else None

    registry.hook = refuse
    with pytest.raises(RegistryError, match=r"MANIFEST_INVALID: unknown type.*The images are there.*--no-sboms"):
        pushed(layout, registry)
    assert {(f"sw/{title.partition(':')[0]}", "1") for title in TITLES} <= set(registry.manifests)
    registry.methods()
    again = pushed(layout, registry, sboms=False)
    assert set(registry.methods()) == {"HEAD"}
    assert [(each.new, each.sbom) for each in again] == [(False, None)] * len(TITLES)


def test_without_bills_of_materials_none_is_pushed(layout: Layout) -> None:
    registry = MemoryRegistry()
    pushed(layout, registry, sboms=False)
    assert {tag for _, tag in registry.manifests if not tag.startswith("sha256:")} == {"1"}
    assert registry.received == sum(
        {blob.digest: blob.size for image in wanted(layout) for blob in image.manifest.blobs}.values()
    )


@pytest.mark.parametrize("made", [partial(Ghcr, largest=40), Ecr, Quay, Harbor])
def test_a_push_that_is_killed_at_any_write_continues_with_each_registry(
    layout: Layout, made: Callable[[], MemoryRegistry]
) -> None:
    """Also with tags that are immutable, when they name an image whose bill of materials is missing."""
    whole = made()
    pushed(layout, whole, chunk=100)
    for number in sampled(range(1, sum(method in WRITES for method in whole.methods()) + 1)):
        registry, count = made(), 0

        def die(request: httpx2.Request, body: bytes, number: int = number) -> None:
            nonlocal count
            count += request.method in WRITES
            if request.method in WRITES and count > number:
                raise Killed

        registry.hook = die
        with contextlib.suppress(Killed):
            pushed(layout, registry, chunk=100)
        registry.disconnect()
        registry.hook = lambda request, body: None
        pushed(layout, registry, chunk=100)
        assert all(registry.manifests[key] == content for key, content in whole.manifests.items())
        assert registry.blobs == whole.blobs
        registry.methods()
        assert not any(each.new for each in pushed(layout, registry, chunk=100))
        assert set(registry.methods()) <= {"HEAD", "GET"}


def test_a_tag_that_is_immutable_and_names_another_image_is_reported(layout: Layout) -> None:
    registry = Harbor()
    registry.manifests["sw/nova", "1"] = b'{"config": {}, "layers": []}'
    with pytest.raises(RegistryError, match=r"PRECONDITION.*The tag sw/nova:1 names another manifest there"):
        pushed(layout, registry)
    assert registry.manifests["sw/nova", "1"] == b'{"config": {}, "layers": []}'


def test_a_registry_that_refuses_chunks_is_asked_by_few_uploads(layout: Layout) -> None:
    """Those in progress when it refused the first one."""
    registry = Ghcr(largest=40)
    pushed(layout, registry, chunk=100)
    assert_complete(registry, layout)
    assert registry.methods().count("PATCH") <= 4 < len(blobs(layout))


def test_an_interrupted_push_ends_its_requests(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = MemoryRegistry()
    session = Session(PREFIX, transport=registry.transport(), sleep=lambda _: None)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stackwright.adapters.registry.parallel.wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Push(layout, PREFIX, session, quiet).run(wanted(layout))
    with pytest.raises(RegistryError, match="were stopped"):
        session.request("HEAD", "sw/base/manifests/1", ["sw/base"])


def test_a_failure_ends_requests_that_get_no_answer(layout: Layout) -> None:
    over, silent = threading.Event(), threading.Event()

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "/etcd/" in request.url.path:
            silent.wait(10)
            return error(403, "DENIED", "read only")
        silent.set()
        over.wait(10)
        return httpx2.Response(404)

    session = Session(PREFIX, transport=httpx2.MockTransport(answer))
    start = time.monotonic()
    with pytest.raises(RegistryError, match="read only"):
        Push(layout, PREFIX, session, quiet).run(wanted(layout))
    assert time.monotonic() - start < 5
    over.set()


def test_a_blob_that_is_removed_meanwhile_is_reported(layout: Layout) -> None:
    images = wanted(layout)
    path = layout.path(images[0].manifest.layers[0].digest)
    path.unlink()
    session = Session(PREFIX, transport=MemoryRegistry().transport(), sleep=lambda _: None)
    with pytest.raises(RegistryError, match=f"{path} was removed while it was pushed. Run the same command again"):
        Push(layout, PREFIX, session, quiet).run(images)


def test_the_progress_ends_at_the_total(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "_MEGABYTE", 1)
    said: list[str] = []
    pushed(layout, MemoryRegistry(), report=said.append, chunk=50)
    assert said[0] == "checking 4 images"
    done = [int(text.split()[0]) for text in said[1:]]
    assert done == sorted(done)
    assert said[-1] == f"{done[-1]} of {done[-1]} MB"


# ---- the command


@pytest.fixture
def registry(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryRegistry:
    """The registry of the command, with a password in an auth file; the images are complete."""
    made = MemoryRegistry("basic")
    given = partial(Session, transport=made.transport(), sleep=lambda _: None)
    monkeypatch.setattr(connection, "Session", given)
    monkeypatch.setattr(images, "complete", lambda names, report: wanted(layout, names or TITLES))
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path))
    login(tmp_path, monkeypatch, PASSWORD)
    return made


def login(folder: Path, monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    (folder / "auth.json").write_text(json.dumps({"auths": {HOST: {"auth": auth}}}))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(folder / "auth.json"))


def call(*words: str) -> Any:
    return CliRunner().invoke(app, ["push", *words])


def test_the_command_lists_what_it_pushed(registry: MemoryRegistry) -> None:
    done = call(f"{HOST}/sw", "--no-charts")
    assert done.exit_code == 0
    assert "✓ Push images to registry.test/sw" in done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["REFERENCE", "DIGEST", "SENT", "RESULT"] in lines
    assert [line[0] for line in lines if line[-1] == "pushed"] == [f"{HOST}/sw/{title}" for title in TITLES]
    again = call(f"{HOST}/sw", "--no-charts")
    assert again.output.count("present") == len(TITLES)


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_data_without_progress(registry: MemoryRegistry, form: str, parse: Callable[[str], Any]) -> None:
    done = call(f"{HOST}/sw", "etcd:1", "-o", form)
    (found,) = parse(done.stdout)
    content = registry.manifests["sw/etcd", "1"]
    sbom = json.loads(registry.manifests["sw/etcd", digest(content).replace(":", "-")])["manifests"][0]["digest"]
    expected = {"name": "etcd", "reference": f"{HOST}/sw/etcd:1", "digest": digest(content), "new": True, "sbom": sbom}
    assert found == expected | {"sent": registry.received}


def test_the_command_pushes_no_bills_of_materials_if_asked(registry: MemoryRegistry) -> None:
    (found,) = json.loads(call(f"{HOST}/sw", "etcd:1", "--no-sboms", "-o", "json").stdout)
    assert found["sbom"] is None
    assert len(registry.manifests) == 2, "the tag and its digest"


@pytest.mark.parametrize(
    "words", [["stackwright"], [f"https://{HOST}/sw"], [f"{HOST}/sw:1"], [f"{HOST}/sw", "--ca", "no"]]
)
def test_wrong_usage_is_refused_before_anything_is_done(registry: MemoryRegistry, words: list[str]) -> None:
    assert call(*words).exit_code == 2
    assert not registry.requests


def test_a_file_that_is_no_ca_is_named(registry: MemoryRegistry, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("none")
    done = call(f"{HOST}/sw", "--ca", str(tmp_path / "ca.crt"))
    assert done.exit_code == 1
    assert f"{tmp_path / 'ca.crt'} has no certificates in PEM format" in done.output


def test_a_wrong_password_is_a_message_without_it(
    registry: MemoryRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(tmp_path, monkeypatch, "wrong horse")
    done = call(f"{HOST}/sw")
    assert done.exit_code == 1
    assert f"Registry {HOST} refused the credentials of {tmp_path}/auth.json" in done.output
    assert "wrong horse" not in done.output
    assert base64.b64encode(f"{USER}:wrong horse".encode()).decode() not in done.output


def test_control_characters_of_a_registry_are_not_printed(registry: MemoryRegistry) -> None:
    registry.hook = lambda request, body: error(403, "DENIED", "\x1b[31mred\x07") if request.method == "POST" else None
    done = call(f"{HOST}/sw")
    assert done.exit_code == 1
    assert "\\x1b[31mred" in done.output
    assert "\x1b" not in done.output


def test_an_interrupted_push_says_how_to_continue(registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Push, found: Iterable[CompleteImage]) -> list[Pushed]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Push, "run", interrupt)
    done = call(f"{HOST}/sw")
    assert done.exit_code == 130
    assert "What is built and pushed is kept; run the same command again to continue." in done.output
