"""Auth files in the order of containers-auth.json(5), credential helpers, and errors without a secret."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.registry.credentials import find
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix

HOST = "registry.test:5000"
PREFIX = prefix(f"{HOST}/a/b")
SECRET = "correct horse"
Write = Callable[[str, Any], Path]


def auth(user: str, password: str = SECRET) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "PATH": str(tmp_path / "bin")}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return written


@pytest.fixture
def helper(tmp_path: Path, write: Write) -> Callable[[str, str], None]:
    """A credential helper with this script, whose standard input is the registry."""

    def made(name: str, script: str) -> None:
        write(f"bin/docker-credential-{name}", f"#!/bin/sh\nread -r registry\n{script}\n").chmod(0o755)

    return made


FILES = ["run/containers/auth.json", "home/.config/containers/auth.json", "home/.docker/config.json"]


@pytest.mark.parametrize("number", range(3))
def test_the_first_file_with_credentials_is_used(write: Write, environ: dict[str, str], number: int) -> None:
    for name in FILES[:number]:
        write(name, {"auths": {"other.test": auth("wrong")}})
    paths = [write(name, {"auths": {HOST: auth(f"user{each}")}}) for each, name in enumerate(FILES[number:])]
    found = find(PREFIX, environ)
    assert found
    assert (found.source, found.username, found.password) == (str(paths[0]), "user0", SECRET)


def test_the_environment_moves_the_files(write: Write, environ: dict[str, str], tmp_path: Path) -> None:
    write("docker/config.json", {"auths": {HOST: auth("docker")}})
    assert (found := find(PREFIX, environ | {"DOCKER_CONFIG": str(tmp_path / "docker")}))
    assert found.username == "docker"
    write("xdg/containers/auth.json", {"auths": {HOST: auth("xdg")}})
    assert (found := find(PREFIX, environ | {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}))
    assert found.username == "xdg"


def test_a_named_file_is_the_only_one(write: Write, environ: dict[str, str], tmp_path: Path) -> None:
    write(FILES[0], {"auths": {HOST: auth("user")}})
    named = write("named.json", {"auths": {}})
    assert find(PREFIX, environ | {"REGISTRY_AUTH_FILE": str(named)}) is None
    with pytest.raises(RegistryError, match=r"REGISTRY_AUTH_FILE names .*absent.json, which does not exist"):
        find(PREFIX, environ | {"REGISTRY_AUTH_FILE": str(tmp_path / "absent.json")})


def test_no_file_is_no_login(environ: dict[str, str]) -> None:
    assert find(PREFIX, environ) is None


def test_the_longest_key_counts(write: Write, environ: dict[str, str]) -> None:
    keys = [HOST, f"{HOST}/a", f"{HOST}/a/b", f"{HOST}/a/b/c", f"{HOST}/ab"]
    write(FILES[0], {"auths": {key: auth(key.replace(":", "-")) for key in keys}})
    assert (found := find(PREFIX, environ))
    assert found.username == f"{HOST}/a/b".replace(":", "-")


@pytest.mark.parametrize("key", [f"https://{HOST}", f"https://{HOST}/v2/", f"http://{HOST}/v1/"])
def test_keys_of_docker_may_be_addresses(write: Write, environ: dict[str, str], key: str) -> None:
    write(FILES[2], {"auths": {key: auth("user")}})
    assert find(PREFIX, environ)


def test_docker_hub_has_a_key_of_its_own(write: Write, environ: dict[str, str]) -> None:
    write(FILES[2], {"auths": {"https://index.docker.io/v1/": auth("user")}})
    assert find(prefix("docker.io/user"), environ)
    assert find(prefix("index.docker.io/user"), environ)


def test_a_password_may_have_any_characters(write: Write, environ: dict[str, str]) -> None:
    write(FILES[0], {"auths": {HOST: auth("user", "pä:ss\n")}})
    assert (found := find(PREFIX, environ))
    assert found.password == "pä:ss\n"


def test_an_identity_token_is_no_password(write: Write, environ: dict[str, str]) -> None:
    write(FILES[2], {"auths": {HOST: {"identitytoken": SECRET}}})
    assert (found := find(PREFIX, environ))
    assert (found.identity_token, found.password) == (SECRET, "")
    assert SECRET not in repr(found)


def test_helpers_come_before_or_after_entries(
    write: Write, environ: dict[str, str], helper: Callable[[str, str], None]
) -> None:
    answer = '{"Username": "%s", "Secret": "s"}'
    helper("own", f"[ $registry = {HOST} ] && echo '{answer % 'own'}'")
    helper("all", f"echo '{answer % 'all'}'")
    content: dict[str, Any] = {"credsStore": "all"}
    write(FILES[2], content)
    assert (found := find(PREFIX, environ))
    assert (found.source, found.username) == ("docker-credential-all", "all")
    write(FILES[2], content | {"auths": {HOST: auth("entry"), "other.test": {}}})
    assert (found := find(PREFIX, environ))
    assert found.username == "entry"
    write(FILES[2], content | {"auths": {HOST: auth("entry")}, "credHelpers": {HOST: "own"}})
    assert (found := find(PREFIX, environ))
    assert found.username == "own"


def test_a_helper_may_know_an_identity_token_or_nothing(
    write: Write, environ: dict[str, str], helper: Callable[[str, str], None]
) -> None:
    helper("own", f"""echo '{{"Username": "<token>", "Secret": "{SECRET}"}}'""")
    write(FILES[2], {"credHelpers": {HOST: "own"}})
    assert (found := find(PREFIX, environ))
    assert found.identity_token == SECRET
    helper("own", "echo 'credentials not found in native keychain'; exit 1")
    assert find(PREFIX, environ) is None


@pytest.mark.parametrize(
    ("script", "name", "part"),
    [
        (f"echo '{SECRET}'; echo '{SECRET}' >&2; exit 1", "own", "docker-credential-own.* failed. Try `echo"),
        (f"echo '{SECRET}'", "own", "failed"),
        (f"""echo '{{"Username": "{SECRET}"}}'""", "own", "failed"),
        ("", "absent", "docker-credential-absent.* cannot be run"),
        ("", "../own", "not valid"),
        ("", 7, "not valid"),
    ],
)
def test_a_broken_helper_is_named_without_its_output(
    write: Write, environ: dict[str, str], helper: Callable[[str, str], None], script: str, name: Any, part: str
) -> None:
    helper("own", script)
    write(FILES[2], {"credHelpers": {HOST: name}})
    with pytest.raises(RegistryError, match=part) as raised:
        find(PREFIX, environ)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (f'{{"auths": "{SECRET}', "auth.json is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ({"auths": {HOST: {"auth": SECRET}}}, f"the field auth of {HOST}"),
        ({"auths": {HOST: {"auth": base64.b64encode(SECRET.encode()).decode()}}}, "the field auth"),
        ({"auths": {HOST: {"auth": 7}}}, "the field auth"),
        ({"auths": {HOST: {"username": "u", "password": [SECRET]}}}, "is not valid"),
    ],
)
def test_a_broken_file_is_named_without_its_content(
    write: Write, environ: dict[str, str], content: Any, part: str
) -> None:
    write(FILES[0], content)
    with pytest.raises(RegistryError, match=part) as raised:
        find(PREFIX, environ)
    assert SECRET not in str(raised.value)
    assert base64.b64encode(SECRET.encode()).decode() not in str(raised.value)


@pytest.mark.parametrize("content", [[], "text", {"auths": []}, {"auths": {HOST: None}}, {"credHelpers": [HOST]}])
def test_a_file_of_another_form_has_no_credentials(write: Write, environ: dict[str, str], content: Any) -> None:
    write(FILES[0], json.dumps(content))
    assert find(PREFIX, environ) is None
