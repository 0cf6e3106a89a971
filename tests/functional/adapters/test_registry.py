"""`stackwright images` with Debian's docker-registry, with TLS and a password: uploads, kills, cuts, errors."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from stackwright.adapters.registry import certificates
from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.local.image import recipes
from stackwright.local.image.archive import Layer
from stackwright.local.image.cache import Meta
from support.paths import ROOT
from support.registry.archives import built
from support.registry.debian import Server, auth_file, docker_registry
from support.registry.memory import PASSWORD, USER, digest

NAMES = ["base", "mariadb", "memcached", "pause"]
WRITES = {"POST", "PATCH", "PUT"}
LARGE = 24 << 20  # more than one chunk
# The command; its process is killed when three blobs are complete.
DIES = """
import itertools, os, signal
from stackwright.adapters.registry.client import Registry
from stackwright.cli import app

push_blob, numbers = Registry.push_blob, itertools.count(1)

def dies(self, *words):
    sent = push_blob(self, *words)
    if next(numbers) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return sent

Registry.push_blob = dies
app.main()
"""
PROGRAM = str(Path(sys.executable).with_name("stackwright"))
Push = Callable[..., "subprocess.CompletedProcess[str]"]


def noise(seed: int, size: int) -> bytes:
    """A layer that cannot be compressed."""
    return random.Random(seed).randbytes(size)


LAYERS = {name: noise(seed, LARGE if name == "base" else 1 << 20) for seed, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which these images are built, by the digests of their recipes."""
    folder, catalogue = tmp_path_factory.mktemp("cache"), recipes.load()
    for name in NAMES:
        found, base = recipes.digests(catalogue)[name], catalogue.recipe(name).base
        layers = [LAYERS[each] for each in catalogue.chain(name)]
        image = built(folder, name, *layers, known=len(layers) - 1, tag=found[:12])
        described = [Layer(digest=digest(layer), size=len(layer)) for layer in layers]
        meta = Meta(name=name, reference=image.reference, digest=found, base=base, layers=described, seconds=1)
        (image.archive.parent / "meta.json").write_text(meta.model_dump_json())
    return folder


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with docker_registry(tmp_path_factory.mktemp("registry")) as started:
        yield started


@pytest.fixture
def environ(server: Server, cache: Path, tmp_path: Path) -> dict[str, str]:
    return user(cache, tmp_path, server.host)


def user(cache: Path, tmp_path: Path, host: str) -> dict[str, str]:
    """The environment of a user who is logged in to the registry."""
    places = {"HOME": str(tmp_path), "STACKWRIGHT_CACHE": str(cache), "STACKWRIGHT_HOME": str(tmp_path / "state")}
    path = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "no_proxy": "localhost"}
    return {**places, **path, "REGISTRY_AUTH_FILE": str(auth_file(tmp_path / "auth.json", host))}


def command(host: str, *words: str, verb: str = "push") -> list[str]:
    return [PROGRAM, "images", verb, f"{host}/sw", *words]


@pytest.fixture
def push(server: Server, environ: dict[str, str]) -> Push:
    def call(*words: str, code: int = 0, verb: str = "push", **more: str) -> subprocess.CompletedProcess[str]:
        env = {name: text for name, text in (environ | more).items() if text}
        argv = command(server.host, *words, verb=verb)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, done.stdout + done.stderr
        assert PASSWORD not in done.stdout + done.stderr
        return done

    return call


def trusted(server: Server) -> list[str]:
    return [*NAMES, "--ca", str(server.ca)]


def assert_complete(server: Server) -> None:
    """Each image can be pulled: all blobs have their digests, and its layers are those of the archives."""
    catalogue = recipes.load()
    for name, found in recipes.digests(catalogue).items():
        if name not in NAMES:
            continue
        manifest = server.get(f"sw/{name}/manifests/{found[:12]}").json()
        for blob in (manifest["config"], *manifest["layers"]):
            content = server.get(f"sw/{name}/blobs/{blob['digest']}").content
            assert (digest(content), len(content)) == (blob["digest"], blob["size"])
        assert_attached(server, name, found[:12])
        config = server.get(f"sw/{name}/blobs/{manifest['config']['digest']}").json()
        assert config["rootfs"]["diff_ids"] == [digest(LAYERS[each]) for each in catalogue.chain(name)]


def assert_attached(server: Server, name: str, tag: str) -> None:
    """The bill of materials is found by the fallback of OCI 1.1 for registries without the API of referrers."""
    subject = digest(server.get(f"sw/{name}/manifests/{tag}").content)
    (listed,) = server.get(f"sw/{name}/manifests/{subject.replace(':', '-')}").json()["manifests"]
    assert listed["artifactType"] == "application/vnd.cyclonedx+json"
    artifact = server.get(f"sw/{name}/manifests/{listed['digest']}").json()
    assert artifact["subject"]["digest"] == subject
    content = server.get(f"sw/{name}/blobs/{artifact['layers'][0]['digest']}").json()
    assert content == {"bomFormat": "CycloneDX", "name": name}


def test_a_second_push_sends_nothing_but_questions(server: Server, push: Push) -> None:
    first = json.loads(push(*trusted(server), "-o", "json").stdout)
    requests = server.requests()
    uploads = [path for method, path, status in requests if method == "PATCH" and status == 202]
    mounts = [path for method, path, status in requests if method == "POST" and status == 201]
    assert [each["name"] for each in first] == [name for name in recipes.load().order() if name in NAMES]
    base = [
        path for path in uploads if "/sw/base/" in path
    ]  # two chunks of its layer; configuration, bill of materials
    assert len(base) in (4, 5)  # any of the images may upload the empty configuration of artifacts
    assert {path.split("/")[3] for path in mounts} >= {"mariadb", "memcached"}
    assert len(mounts) == 2 + len(NAMES) - 1
    assert_complete(server)
    server.requests()
    second = json.loads(push(*trusted(server), "-o", "json").stdout)
    assert {method for method, _, _ in server.requests()} == {"HEAD", "GET"}
    assert [each["digest"] for each in second] == [each["digest"] for each in first]
    assert not any(each["new"] or each["sent"] for each in second)


def test_a_killed_push_continues(server: Server, push: Push, environ: dict[str, str]) -> None:
    """Complete blobs are not uploaded again."""
    words = [sys.executable, "-c", DIES, *command(server.host, *trusted(server))[1:]]
    assert subprocess.run(words, env=environ, capture_output=True, timeout=300).returncode == -signal.SIGKILL
    server.requests()  # waits for requests in progress
    folder = server.log.parent / "data/docker/registry/v2/repositories/sw"
    before = {(path.parts[-5], path.parent.name) for path in folder.glob("*/_layers/sha256/*/link")}
    assert len(before) >= 3
    push(*trusted(server))
    sent = {
        (path.split("/")[3], path.rpartition("digest=sha256%3A")[2][:64])
        for method, path, status in server.requests()
        if method == "PUT" and status == 201 and "/blobs/" in path
    }
    assert sent
    assert not sent & before
    assert_complete(server)


def test_images_reach_a_site_that_builds_none_in_a_file(
    server: Server, push: Push, environ: dict[str, str], tmp_path: Path
) -> None:
    """The cache of that site has no archive."""
    file, site = tmp_path / "images.tar", {"STACKWRIGHT_CACHE": str(tmp_path / "site")}

    def images(*words: str, env: dict[str, str]) -> list[dict[str, object]]:
        argv = [PROGRAM, "images", *words, "-o", "json"]
        found: list[dict[str, object]] = json.loads(subprocess.check_output(argv, env=env, timeout=300))
        return found

    written = images("export", str(file), *NAMES, env=environ)
    file.with_suffix(".cut").write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    cut = [PROGRAM, "images", "import", str(file.with_suffix(".cut"))]
    assert subprocess.run(cut, env=environ | site, capture_output=True, timeout=300).returncode == 1
    read = images("import", str(file), env=environ | site)
    assert {str(each["digest"]) for each in read if each["new"]} == {str(each["digest"]) for each in written}
    pushed = json.loads(push(*trusted(server), "-o", "json", **site).stdout)
    assert {each["digest"] for each in pushed} == {each["digest"] for each in written}
    assert_complete(server)
    assert not (tmp_path / "site/images").exists()


def test_verify_finds_what_the_registry_lost(server: Server, push: Push) -> None:
    missing = push(*trusted(server), verb="verify", code=1)
    assert missing.stdout.count("missing") == len(NAMES)
    assert f"Push them: stackwright images push --ca {server.ca} {server.host}/sw base " in missing.stderr
    push(*trusted(server))
    server.requests()
    assert push(*trusted(server), verb="verify").stdout.count(" ok") == len(NAMES)
    assert not WRITES & {method for method, _, _ in server.requests()}
    repositories = server.log.parent / "data/docker/registry/v2/repositories/sw"
    shutil.rmtree(repositories / "pause/_manifests/tags")
    shutil.rmtree(repositories / "mariadb/_layers")
    found = json.loads(push(*trusted(server), "-o", "json", verb="verify", code=1).stdout)
    states = {"base": "ok", "mariadb": "incomplete", "memcached": "ok", "pause": "missing"}
    assert {each["name"]: each["state"] for each in found} == states
    push(*trusted(server))
    push(*trusted(server), verb="verify")


def test_what_is_printed_for_people(server: Server, push: Push) -> None:
    lines = push(*trusted(server)).stdout.splitlines()
    assert any(re.fullmatch(rf" ✓ Push images to {server.host}/sw \([\d.]+ s\)", line) for line in lines)
    assert [line.split()[-1] for line in lines if line.startswith(server.host)] == ["pushed"] * len(NAMES)
    assert "Push images" not in push(*trusted(server), "--quiet").stdout


def test_a_ca_of_podman_is_trusted(server: Server, push: Push, tmp_path: Path) -> None:
    folder = tmp_path / ".config/containers/certs.d" / server.host
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(server.ca.read_bytes())
    push("pause")


def test_a_certificate_of_an_unknown_ca_is_explained(server: Server, push: Push) -> None:
    told = push("pause", code=1).stderr
    assert f"The certificate of {server.host} is not trusted: " in told
    assert f"--ca FILE, or copy it to /etc/containers/certs.d/{server.host}/ca.crt" in told
    assert server.requests() == []


def test_a_wrong_and_a_missing_password_are_explained(server: Server, push: Push, tmp_path: Path) -> None:
    auth_file(tmp_path / "auth.json", server.host, "wrong horse")
    told = push(*trusted(server), code=1)
    assert f"Registry {server.host} refused the credentials of {tmp_path}/auth.json" in told.stderr
    assert "wrong horse" not in told.stdout + told.stderr
    told = push(*trusted(server), code=1, REGISTRY_AUTH_FILE="")
    assert f"Registry {server.host} requires a login" in told.stderr
    assert not WRITES & {method for method, _, _ in server.requests()}


def test_a_registry_that_is_not_there_is_explained(server: Server, push: Push) -> None:
    server.stop()
    told = push(*trusted(server), code=1).stderr
    assert told.strip() == f"Registry {server.host} is unreachable: connection refused."


def test_a_registry_with_tls_refuses_plain_http(server: Server, push: Push) -> None:
    assert "status 400" in push(*trusted(server), "--plain-http", code=1).stderr


@contextlib.contextmanager
def unanswering(talks: bool) -> Iterator[tuple[int, threading.Event]]:
    """A server that sends no response, or only interim ones. Yields its port, and the event of a connection."""
    asked, ended = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            asked.set()
            while not ended.wait(0.05):
                if talks:
                    connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=[listening.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], asked
        ended.set()
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("talks", [False, True], ids=["silent", "talking"])
def test_an_interrupt_ends_a_push_at_once(talks: bool, cache: Path, tmp_path: Path) -> None:
    with unanswering(talks) as (port, asked):
        host = f"localhost:{port}"
        words = command(host, *NAMES, *(["--plain-http"] if talks else []))
        env = user(cache, tmp_path, host)
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert asked.wait(120)
            time.sleep(0.5)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            try:
                said = process.communicate(timeout=60)[0]
            finally:
                process.kill()
            assert time.monotonic() - start < 30, "seconds; the server never answers"
        assert process.returncode == 130, said
        assert "run the same command again to continue" in said


class Cutting(httpx2.HTTPTransport):
    """Ends the connection once, before or after the registry has received a request."""

    def __init__(self, server: Server, method: str, number: int, after: bool) -> None:
        super().__init__(verify=certificates.context(server.host, server.ca, []))
        self.method, self.left, self.after = method, number, after

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.left -= request.method == self.method
        if request.method != self.method or self.left != 0:
            return super().handle_request(request)
        if self.after:
            response = super().handle_request(request)
            response.read()
            response.close()
        raise httpx2.ReadError("cut")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("method", "number"), [("POST", 1), ("PATCH", 1), ("PATCH", 2), ("PATCH", 4), ("PUT", 1)])
def test_an_upload_that_is_cut_continues(server: Server, tmp_path: Path, method: str, number: int, after: bool) -> None:
    content = noise(1, 3500)
    (tmp_path / "blob").write_bytes(content)
    blob = Blob(digest(content), len(content), tmp_path / "blob")
    transport = Cutting(server, method, number, after)
    login = Credentials("f", USER, PASSWORD)
    with closing(Session(prefix(f"{server.host}/sw"), login, transport=transport, sleep=lambda _: None)) as session:
        client = Registry(session, 1000)
        assert not client.has_blob("sw/one", blob.digest, blob.size)
        advanced: list[int] = []
        assert client.push_blob("sw/one", blob, None, advanced.append)
    assert hashlib.sha256(server.get(f"sw/one/blobs/{blob.digest}").content).hexdigest() == blob.digest[7:]
    assert sum(advanced) == len(content)
    patches = [status for each, _, status in server.requests() if each == "PATCH"]
    # A registry may discard an upload of which it has more than it confirmed; then the upload is restarted.
    assert 4 <= patches.count(202) <= 4 + (number if method == "PATCH" and after else 0)
