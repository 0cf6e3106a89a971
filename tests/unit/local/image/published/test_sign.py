"""How cosign is called, and for which images. It is a script here: it notes what it gets, and signs nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.adapters.registry.credentials import Credentials, docker_config
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.cli.images.images import app
from stackwright.local.commands import quiet
from stackwright.local.image import images
from stackwright.local.image.published import connection
from stackwright.local.image.published.layout import Layout
from stackwright.runtime import x509
from support.registry.archives import built
from support.registry.memory import HOST, PASSWORD, USER, MemoryRegistry

COSIGN = """\
#!/bin/sh
printf '%s\\n' "$@" > {notes}/words
cp "$DOCKER_CONFIG"/* {notes}/
stat -c %a "$DOCKER_CONFIG" "$DOCKER_CONFIG/config.json" > {notes}/modes
echo "$COSIGN_PASSWORD" > {notes}/password
exit {code}
"""
Files = dict[str, str]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "published")
    made.add([built(tmp_path, "base", b"base"), built(tmp_path, "nova", b"base", b"nova", known=1)], quiet)
    return made


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry("basic")


@pytest.fixture
def push(
    layout: Layout, registry: MemoryRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    given = partial(Session, transport=registry.transport(), sleep=lambda _: None)
    monkeypatch.setattr(connection, "Session", given)
    monkeypatch.setattr(images, "complete", lambda names, report: layout.images())
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    login = {"auths": {HOST: {"username": USER, "password": PASSWORD}}}
    (tmp_path / "auth.json").write_text(json.dumps(login))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    return lambda *words: CliRunner().invoke(app, ["push", f"{HOST}/sw", "--sign", "cosign.key", *words])


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], Files]]:
    """Installs the script; the result reads the notes of its last call, and removes them."""
    notes = tmp_path / "notes"
    notes.mkdir()

    def install(code: int = 0) -> Callable[[], Files]:
        program = tmp_path / "bin/cosign"
        program.parent.mkdir(exist_ok=True)
        program.write_text(COSIGN.format(notes=notes, code=code))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

        def read() -> Files:
            found = {path.name: path.read_text() for path in notes.iterdir()}
            for path in notes.iterdir():
                path.unlink()
            return found

        return read

    return install


def references(layout: Layout) -> list[str]:
    return [f"{HOST}/sw/{image.name}@{image.descriptor.digest}" for image in layout.images()]


def test_all_images_are_signed_by_one_call_and_their_digests(
    push: Callable[..., Any], installed: Any, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSIGN_PASSWORD", "of the key")
    notes = installed()
    done = push()
    assert done.exit_code == 0, done.output
    assert [line.split()[-2:] for line in done.stdout.splitlines() if line.startswith(HOST)] == [
        ["pushed,", "signed"],
        ["pushed,", "signed"],
    ]
    found = notes()
    words = found["words"].splitlines()
    assert words[:5] == ["sign", "--yes", "--key", "cosign.key", "--signing-config"]
    assert words[6:] == references(layout)
    assert found["password"] == "of the key\n"
    assert not Path(words[5]).exists(), "a temporary file"


def test_no_service_is_named_to_cosign(push: Callable[..., Any], installed: Any) -> None:
    """Without this, it writes the digests to a public log."""
    notes = installed()
    push()
    assert json.loads(notes()["signing.json"]) == {
        "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
        "rekorTlogConfig": {},
        "tsaConfig": {},
    }


def test_cosign_gets_the_credentials_and_cas_of_the_push(
    push: Callable[..., Any], installed: Any, tmp_path: Path
) -> None:
    """It reads neither podman's folders of CAs nor all of its files of credentials."""
    notes = installed()
    push()
    found = notes()
    auth = Credentials("x", USER, PASSWORD).basic
    assert json.loads(found["config.json"]) == {"auths": {HOST: {"auth": auth}}}
    assert found["modes"].split() == ["700", "600"]
    assert PASSWORD not in found["words"]
    assert auth not in found["words"]
    assert "--registry-cacert" not in found["words"]


def test_cosign_gets_all_cas_in_one_file(
    push: Callable[..., Any], installed: Any, tmp_path: Path, registry: MemoryRegistry, layout: Layout
) -> None:
    folder = tmp_path / ".config/containers/certs.d" / HOST
    folder.mkdir(parents=True)
    one, two = (x509.authority(name, 0)["ca.crt"] for name in ("one", "two"))
    (folder / "ca.crt").write_text(one)
    (tmp_path / "given.pem").write_text(two)
    notes = installed()
    assert push("--ca", str(tmp_path / "given.pem"), "--plain-http").exit_code == 0
    found = notes()
    assert found["ca.pem"].split() == f"{two}\n{one}".split()
    words = found["words"].splitlines()
    assert words[6] == "--registry-cacert"
    assert words[8] == "--allow-http-registry"


def signature(registry: MemoryRegistry, layout: Layout, name: str, *, tag: bool) -> None:
    """What cosign leaves in a registry: an artifact (version 3), or a tag (version 2)."""
    image = layout.image(f"{name}:1")
    assert image
    listed = image.descriptor.digest.replace(":", "-")
    if tag:
        registry.manifests[f"sw/{name}", f"{listed}.sig"] = b"{}"
    else:
        index = json.loads(registry.manifests[f"sw/{name}", listed])
        index["manifests"].append({"artifactType": "application/vnd.dev.sigstore.bundle.v0.3+json", "digest": "x"})
        registry.manifests[f"sw/{name}", listed] = json.dumps(index).encode()


@pytest.mark.parametrize("tag", [True, False])
def test_an_image_that_has_a_signature_is_not_signed_again(
    push: Callable[..., Any], installed: Any, layout: Layout, registry: MemoryRegistry, tag: bool
) -> None:
    notes = installed()
    push()
    signature(registry, layout, "base", tag=tag)
    done = push("-o", "json")
    assert notes()["words"].splitlines()[6:] == references(layout)[1:]
    assert [(each["name"], each["new"], each["signed"]) for each in json.loads(done.stdout)] == [
        ("base", False, False),
        ("nova", False, True),
    ]
    signature(registry, layout, "nova", tag=tag)
    assert push().exit_code == 0
    assert notes() == {}, "cosign is not called"


def test_a_failure_of_cosign_is_reported_after_the_push(
    push: Callable[..., Any], installed: Any, registry: MemoryRegistry, layout: Layout
) -> None:
    installed(code=3)
    done = push()
    assert done.exit_code == 1
    assert "`cosign sign` failed with exit code 3. The images are there; run the same command again" in done.output
    assert {("sw/base", "1"), ("sw/nova", "1")} <= set(registry.manifests)


def test_without_cosign_nothing_is_pushed(
    push: Callable[..., Any], registry: MemoryRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = push()
    assert done.exit_code == 1
    assert "--sign requires the program cosign, version 3 or later, which is not installed." in done.output
    assert not registry.requests


@pytest.mark.parametrize(
    ("place", "found", "config"),
    [
        ("a.example/x", None, {"auths": {}}),
        ("a.example/x", Credentials("f", "u", "p"), {"auths": {"a.example": {"auth": "dTpw"}}}),
        ("docker.io/x", Credentials("f", "u", "p"), {"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}),
        ("a.example/x", Credentials("f", identity_token="t"), {"auths": {"a.example": {"identitytoken": "t"}}}),
    ],
)
def test_credentials_are_written_as_docker_does(place: str, found: Credentials | None, config: dict[str, Any]) -> None:
    assert docker_config(prefix(place), found) == config
