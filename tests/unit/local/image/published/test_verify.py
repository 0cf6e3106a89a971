"""Which images a registry lacks: states, the images of a cloud, and the command."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from typer.testing import CliRunner

from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.cli.images.images import app
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.local.commands import LocalError, quiet
from stackwright.local.image import images
from stackwright.local.image.published import connection, needed
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage
from stackwright.local.image.published.push import Push
from stackwright.local.image.published.verify import State, Verification, Verified
from stackwright.runtime import x509
from support.paths import ROOT
from support.registry.archives import built
from support.registry.memory import AUTH, HOST, MemoryRegistry, digest, error

PREFIX = prefix(f"{HOST}/sw")
TITLES = ["base:1", "nova:1"]
REFERENCES = [f"{HOST}/sw/{title}" for title in TITLES]
REAL_REFERENCES = images.references
NAME_RULE = "a name has lower-case letters, digits, and single . _ - / between them, at most 255 characters"
EXAMPLES = ROOT / "examples"


def example(name: str, kind: str) -> dict[str, Any]:
    documents = yaml.safe_load_all((EXAMPLES / name).read_text())
    found: dict[str, Any] = next(each for each in documents if each["kind"] == kind)
    return found


CLOUD = example("identity.yaml", "OpenStackDeployment")
CONTROL_PLANE = example("control-plane.yaml", "OpenStackControlPlane")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "published")
    made.add([built(tmp_path, "base", b"base"), built(tmp_path, "nova", b"base", b"nova", known=1)], quiet)
    return made


@pytest.fixture
def registry(layout: Layout) -> MemoryRegistry:
    """It has both images."""
    made = MemoryRegistry()
    session = Session(PREFIX, transport=made.transport(), sleep=lambda _: None)
    Push(layout, PREFIX, session, quiet).run(layout.images())
    made.methods()
    return made


def verified(
    registry: MemoryRegistry, known: list[CompleteImage] | None = None, references: list[str] = REFERENCES
) -> list[Verified]:
    session = Session(PREFIX, transport=registry.transport(), sleep=lambda _: None)
    return Verification(PREFIX, session, {each.title: each for each in known or []}, quiet).run(references)


def states(registry: MemoryRegistry, known: list[CompleteImage] | None = None) -> list[str]:
    return [str(each.state) for each in verified(registry, known)]


@pytest.mark.parametrize("complete", [True, False])
def test_pushed_images_are_there_for_any_machine(layout: Layout, registry: MemoryRegistry, complete: bool) -> None:
    found = verified(registry, layout.images() if complete else None)
    digests = [image.descriptor.digest for image in layout.images()]
    expected = zip(["base", "nova"], REFERENCES, digests, strict=True)
    assert found == [Verified(*each, State.OK) for each in expected]
    assert set(registry.methods()) <= {"GET", "HEAD"}


def test_a_missing_tag_and_a_missing_blob_are_found(layout: Layout, registry: MemoryRegistry) -> None:
    del registry.manifests["sw/base", "1"]
    nova = layout.image("nova:1")
    assert nova
    del registry.blobs["sw/nova"][nova.manifest.layers[0].digest]
    assert [(each.digest, each.state) for each in verified(registry)] == [
        (None, "missing"),
        (nova.descriptor.digest, "incomplete"),
    ]


def replaced(registry: MemoryRegistry, name: str, config: bytes) -> None:
    """The tag of an image names one with another configuration."""
    manifest = json.loads(registry.manifests[f"sw/{name}", "1"])
    registry.blobs[f"sw/{name}"][digest(config)] = config
    manifest["config"] |= {"digest": digest(config), "size": len(config)}
    registry.manifests[f"sw/{name}", "1"] = json.dumps(manifest).encode()


def test_another_content_differs_from_that_of_this_machine(layout: Layout, registry: MemoryRegistry) -> None:
    config = json.dumps({"architecture": "amd64", "rootfs": {"diff_ids": ["another", "content"]}})
    replaced(registry, "nova", config.encode())
    assert states(registry, layout.images()) == ["ok", "differs"]
    assert states(registry) == ["ok", "ok"], "unknown on this machine"


def test_layers_that_another_program_compressed_are_the_same_content(layout: Layout, registry: MemoryRegistry) -> None:
    manifest = json.loads(registry.manifests["sw/nova", "1"])
    registry.blobs["sw/nova"][digest(b"packed")] = b"packed"
    manifest["layers"][0] |= {"digest": digest(b"packed"), "size": 6}
    registry.manifests["sw/nova", "1"] = json.dumps(manifest).encode()
    assert states(registry, layout.images()) == ["ok", "ok"]


@pytest.mark.parametrize("complete", [True, False])
def test_a_manifest_without_the_layers_of_its_configuration_differs(
    layout: Layout, registry: MemoryRegistry, complete: bool
) -> None:
    manifest = json.loads(registry.manifests["sw/nova", "1"])
    registry.manifests["sw/nova", "1"] = json.dumps(manifest | {"layers": []}).encode()
    assert states(registry, layout.images() if complete else None) == ["ok", "differs"]


def test_a_layer_of_another_size_is_damaged_and_other_images_are_verified(
    layout: Layout, registry: MemoryRegistry
) -> None:
    def lies(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        wrong = request.method == "HEAD" and "/sw/nova/blobs/" in request.url.path
        return httpx2.Response(200, headers={"Content-Length": "77"}) if wrong else None

    registry.hook = lies
    assert states(registry, layout.images()) == ["ok", "damaged"]


@pytest.mark.parametrize("place", ["1", "blob"])
def test_what_is_too_large_is_not_ours(layout: Layout, registry: MemoryRegistry, place: str) -> None:
    """Such as an index with very many platforms, or a configuration of another image."""
    large = b'{"manifests": []}' + b" " * (1 << 20)
    if place == "blob":
        replaced(registry, "nova", large)
    else:
        registry.manifests["sw/nova", "1"] = large
    assert states(registry) == ["ok", "differs"]


def test_each_layer_is_asked_for_once(layout: Layout, registry: MemoryRegistry) -> None:
    manifest = json.loads(registry.manifests["sw/nova", "1"])
    manifest["layers"] *= 100
    registry.manifests["sw/nova", "1"] = json.dumps(manifest).encode()
    assert states(registry) == ["ok", "differs"]
    assert len(registry.methods()) < 20
    assert states(registry, layout.images()) == ["ok", "differs"]
    assert len(registry.methods()) < 10


@pytest.mark.parametrize("config", [b'{"architecture": "arm64"}', b"{}", b"[]", b"[" * 100_000, b"\xff"])
def test_another_architecture_differs(registry: MemoryRegistry, config: bytes) -> None:
    replaced(registry, "nova", config)
    assert states(registry) == ["ok", "differs"]


@pytest.mark.parametrize("manifest", [b'{"manifests": []}', b"[]", b"\xff", b'{"config": {}, "layers": []}'])
def test_a_tag_of_something_else_differs(registry: MemoryRegistry, manifest: bytes) -> None:
    registry.manifests["sw/base", "1"] = manifest
    assert states(registry) == ["differs", "ok"]


def test_images_of_overrides_are_checked_below_the_prefix_only(layout: Layout, registry: MemoryRegistry) -> None:
    base = layout.image("base:1")
    assert base
    registry.manifests["sw/base", base.descriptor.digest] = registry.manifests["sw/base", "1"]
    registry.manifests["sw/base", "latest"] = registry.manifests["sw/base", "1"]
    names = [f"base@{base.descriptor.digest}", "base", "base:2", f"base:1@{base.descriptor.digest}"]
    found = verified(registry, references=[f"{HOST}/sw/{name}" for name in names] + ["quay.io/sw/base:1"])
    assert [each.state for each in found] == ["ok", "ok", "missing", "ok", "elsewhere"]
    assert [each.lacking for each in found] == [False, False, True, False, False]
    assert [each.name for each in found[:4]] == ["base"] * 4
    assert all(request.url.host == HOST for request in registry.requests)


def test_references_that_are_not_valid_cause_no_request(registry: MemoryRegistry) -> None:
    wrong = ["BAD:1", "x:1/../../../../../api/v2.0/projects?q=1", "x:1\nfoo", "x@sha256:1", "x:" + "a" * 9000]
    with pytest.raises(LocalError) as caught:
        verified(registry, references=[*REFERENCES, *(f"{HOST}/sw/{title}" for title in wrong)])
    assert not registry.requests
    first, *lines = str(caught.value).splitlines()
    assert first == "These references of images are not valid; correct the overrides:"
    assert len(lines) == len(wrong)
    assert lines[0] == f"'{HOST}/sw/BAD:1': {NAME_RULE}"
    assert "projects?q=1': a tag has at most 128" in lines[1]
    assert max(map(len, lines)) < 400


@pytest.mark.parametrize("part", ["config", "manifest"])
def test_content_that_is_not_that_of_its_digest_is_damaged(layout: Layout, registry: MemoryRegistry, part: str) -> None:
    nova = layout.image("nova:1")
    assert nova
    described = nova.manifest.config if part == "config" else nova.descriptor
    reference = f"{HOST}/sw/nova@{nova.descriptor.digest}"

    def lies(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.method == "GET" and request.url.path.endswith(described.digest):
            return httpx2.Response(200, content=b'{"architecture": "amd64"}')
        return None

    registry.hook = lies
    found = verified(registry, references=[REFERENCES[0], reference])
    assert [each.state for each in found] == ["ok", "damaged"]
    assert [each.lacking for each in found] == [False, True]


# ---- the images of a cloud


def names_of(*clouds: tuple[Any, dict[str, Any]]) -> set[str]:
    found = needed.images(clouds, images.references(str(PREFIX)))
    ours = {reference: name for name, reference in images.references(str(PREFIX)).items()}
    return {ours.get(reference, reference) for reference in found}


def test_a_cloud_needs_the_images_that_its_controller_pulls_and_the_operator() -> None:
    found = names_of((OpenStackDeployment.KIND, CLOUD))
    assert {"operator", "pause", "keystone", "mariadb", "rabbitmq", "memcached", "keystoneclient"} <= found
    assert not found & {"base", "python", "libvirt", "nova", "guest", "coredns"}


def test_an_override_of_an_image_is_one_that_the_cloud_needs() -> None:
    values = {"images": {"tags": {"keystone_api": "quay.io/x/keystone:1"}}}
    cloud = CLOUD | {"spec": {**CLOUD["spec"], "services": {"identity": {"keystone": {"values": values}}}}}
    assert "quay.io/x/keystone:1" in names_of((OpenStackDeployment.KIND, cloud))


def test_an_override_that_is_no_reference_ends_the_command(
    command: Callable[..., Any], registry: MemoryRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "references", REAL_REFERENCES)
    values = {
        "images": {"tags": {"keystone_api": f"{HOST}/sw/x:1/../../../api?q=1", "keystone_db_sync": f"{HOST}/sw/BAD"}}
    }
    cloud = CLOUD | {"spec": {**CLOUD["spec"], "services": {"identity": {"keystone": {"values": values}}}}}
    (tmp_path / "cloud.yaml").write_text(yaml.safe_dump(cloud))
    done = command("-f", str(tmp_path / "cloud.yaml"))
    assert done.exit_code == 1
    assert f"'{HOST}/sw/BAD': {NAME_RULE}" in done.stderr
    assert f"'{HOST}/sw/x:1/../../../api?q=1': a tag has at most 128" in done.stderr
    assert not registry.requests


def test_a_control_plane_needs_its_images() -> None:
    found = names_of((OpenStackControlPlane.KIND, CONTROL_PLANE))
    assert {"operator", "pause", "keystone", "mariadb"} <= found


@pytest.mark.parametrize(
    ("spec", "words"),
    [({"preset": "none"}, "preset"), ({"draft": True, "preset": "core"}, "spec.draft is true")],
)
def test_a_cloud_that_the_operator_would_not_create_is_refused(spec: dict[str, Any], words: str) -> None:
    cloud = CLOUD | {"spec": {**CLOUD["spec"], **spec}}
    with pytest.raises(ValueError, match=f"OpenStackDeployment cloud: .*{words}"):
        names_of((OpenStackDeployment.KIND, cloud))


# ---- the command


@pytest.fixture
def command(
    layout: Layout, registry: MemoryRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """The command in a version that has these two images and no charts, whose registry is in memory."""
    given = partial(Session, transport=registry.transport(), sleep=lambda _: None)
    monkeypatch.setattr(connection, "Session", given)
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    monkeypatch.setattr(images, "wanted", lambda names, place: [f"{place}/{title}" for title in names or TITLES])

    def references(place: str = "stackwright.local") -> dict[str, str]:
        return {title.partition(":")[0]: f"{place}/{title}" for title in TITLES}

    monkeypatch.setattr(images, "references", references)
    return lambda *words: CliRunner().invoke(app, ["verify", f"{HOST}/sw", "--no-charts", *words])


def test_the_command_ends_with_0_if_nothing_is_missing(command: Callable[..., Any]) -> None:
    done = command()
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["REFERENCE", "DIGEST", "STATE"] in lines
    assert [line[0] for line in lines if line[-1] == "ok"] == REFERENCES


def test_the_command_says_what_to_push(command: Callable[..., Any], registry: MemoryRegistry) -> None:
    del registry.manifests["sw/nova", "1"]
    done = command()
    assert done.exit_code == 1
    assert done.stderr == (
        f"1 of 2 images are missing, incomplete, damaged or different. "
        f"Push them: stackwright images push {HOST}/sw nova\n"
    )
    assert command("base:1").exit_code == 0


def test_the_command_repeats_the_options_of_the_connection(
    command: Callable[..., Any], registry: MemoryRegistry, tmp_path: Path
) -> None:
    del registry.manifests["sw/nova", "1"]
    (ca := tmp_path / "a ca.crt").write_text(x509.authority("ca", time.time())["ca.crt"])
    done = command("--ca", str(ca), "--plain-http")
    assert done.stderr.endswith(f" images push --ca '{ca}' --plain-http {HOST}/sw nova\n")


def test_the_command_names_no_push_that_repairs_nothing(command: Callable[..., Any], registry: MemoryRegistry) -> None:
    """Registries keep what they have of a digest; and a push brings the images of this version only."""
    layer = json.loads(registry.manifests["sw/nova", "1"])["layers"][-1]["digest"]
    registry.blobs["sw/nova"][layer] = b"short"
    done = command()
    assert done.exit_code == 1
    assert "Push them" not in done.stderr
    assert f"delete these images in the registry first: {HOST}/sw/nova:1\n" in done.stderr
    done = command("other:1")
    assert done.exit_code == 1
    assert "Push them" not in done.stderr
    assert f"no push brings them; correct the overrides: {HOST}/sw/other:1\n" in done.stderr


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_data(
    command: Callable[..., Any], registry: MemoryRegistry, layout: Layout, form: str, parse: Any
) -> None:
    del registry.manifests["sw/nova", "1"]
    done = command("-o", form)
    base = layout.image("base:1")
    assert base
    assert done.exit_code == 1
    assert parse(done.stdout) == [
        {"name": "base", "reference": REFERENCES[0], "digest": base.descriptor.digest, "state": "ok"},
        {"name": "nova", "reference": REFERENCES[1], "digest": None, "state": "missing"},
    ]


def test_the_command_asks_for_no_right_to_write(command: Callable[..., Any], registry: MemoryRegistry) -> None:
    """A token server may refuse a reader that asks for more."""
    registry.login = "bearer"
    command()
    asked = [request.url.params["scope"] for request in registry.requests if request.url.host == AUTH]
    assert asked, "without a login the first refusal ends the command"
    assert set(asked) <= {"repository:sw/base:pull", "repository:sw/nova:pull"}


def test_an_unreachable_registry_ends_with_1(command: Callable[..., Any], registry: MemoryRegistry) -> None:
    registry.hook = lambda request, body: error(403, "DENIED", "no")
    done = command()
    assert done.exit_code == 1
    assert f"Registry {HOST} denies access to sw/" in done.output


@pytest.mark.parametrize("words", [["-f", "-", "nova"], ["--ca", "/none"]])
def test_wrong_usage_ends_with_2(command: Callable[..., Any], words: list[str]) -> None:
    assert command(*words).exit_code == 2


def test_the_images_of_a_file_are_verified(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def of(clouds: list[tuple[Any, dict[str, Any]]], references: dict[str, str]) -> list[str]:
        asked.extend(cloud["metadata"]["name"] for _, cloud in clouds)
        return [references["nova"]]

    monkeypatch.setattr(needed, "images", of)
    done = command("-f", str(EXAMPLES / "identity.yaml"), "-f", str(EXAMPLES / "control-plane.yaml"))
    assert (done.exit_code, asked) == (0, ["cloud", "openstack"])
    assert "base:1" not in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "kind: Secret\napiVersion: v1\nmetadata: {name: a}\n",
            "contains no OpenStackDeployment or OpenStackControlPl",
        ),
        ("kind: OpenStackDeployment\n", "apiVersion"),
        ("", "contains no manifest"),
    ],
)
def test_a_file_without_a_valid_cloud_is_named(
    command: Callable[..., Any], tmp_path: Path, registry: MemoryRegistry, text: str, words: str
) -> None:
    (tmp_path / "cloud.yaml").write_text(text)
    done = command("-f", str(tmp_path / "cloud.yaml"))
    assert done.exit_code == 1
    assert f"{tmp_path}/cloud.yaml: " in done.output
    assert words in done.output
    assert not registry.requests
