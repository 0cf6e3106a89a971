"""Credentials from the files of podman, buildah and Docker, in the order of containers-auth.json(5)."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import DOCKER_HUB, Prefix

_HUB_KEY = "https://index.docker.io/v1/"  # key of Docker Hub for Docker and its helpers
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_HELPER_LIMIT = 60  # seconds
_IDENTITY = "<token>"  # the user name of a helper whose secret is an identity token
_UNKNOWN = "credentials not found"


@dataclass(frozen=True)
class Credentials:
    """source  the file or helper, for messages. identity_token  is exchanged for tokens, in place of a password"""

    source: str
    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


def find(prefix: Prefix, environ: Mapping[str, str] = os.environ) -> Credentials | None:
    """Return the credentials of the first file that has some. Raises RegistryError if a file or helper is broken."""
    given = environ.get("REGISTRY_AUTH_FILE")
    for path in [Path(given)] if given else _files(environ):
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            if given:
                raise RegistryError(f"$REGISTRY_AUTH_FILE names {path}, which does not exist.") from None
            continue
        except OSError as error:
            raise RegistryError(f"{path} cannot be read: {error.strerror}.") from None
        except (ValueError, RecursionError):  # its text may repeat a part of the content
            raise RegistryError(f"{path} is not valid JSON.") from None
        if found := _in_file(path, content if isinstance(content, dict) else {}, prefix, environ):
            return found
    return None


def _files(environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or "/root")
    runtime = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/containers/{os.getuid()}")
    runtime = runtime / "containers" if environ.get("XDG_RUNTIME_DIR") else runtime
    config, docker = environ.get("XDG_CONFIG_HOME"), environ.get("DOCKER_CONFIG")
    return [
        runtime / "auth.json",
        Path(config or home / ".config", "containers/auth.json"),
        Path(docker or home / ".docker", "config.json"),
    ]


def _in_file(path: Path, content: dict[str, Any], prefix: Prefix, environ: Mapping[str, str]) -> Credentials | None:
    """Credentials by the registry's own helper, then by the longest key, then by the helper for all registries."""
    helper = _mapping(content, "credHelpers").get(prefix.host)
    if helper is not None:
        return _from_helper(path, helper, prefix, environ)
    entries = {_normal(key): entry for key, entry in _mapping(content, "auths").items()}
    for key in _keys(prefix):
        if found := _from_entry(path, key, entries.get(key)):
            return found
    store = content.get("credsStore")
    return _from_helper(path, store, prefix, environ) if store else None


def _mapping(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _keys(prefix: Prefix) -> Iterator[str]:
    """Keys of a prefix, the longest first: registry/a/b, registry/a, registry."""
    key = str(prefix)
    while key:
        yield key
        key = key.rpartition("/")[0]


def _normal(key: str) -> str:
    """A key as podman writes it. Docker's keys may be URLs, of which only the host is used."""
    without = re.sub(r"^https?://", "", key)
    normal = without.partition("/")[0] if without != key else key.rstrip("/")
    return DOCKER_HUB if normal == "index.docker.io" else normal


def _from_entry(path: Path, key: str, entry: Any) -> Credentials | None:
    if not isinstance(entry, dict):
        return None
    identity = entry.get("identitytoken") or ""
    username, password = entry.get("username") or "", entry.get("password") or ""
    if auth := entry.get("auth"):
        try:
            username, mark, password = base64.b64decode(auth, validate=True).decode().partition(":")
        except (ValueError, TypeError):
            mark = ""
        if not mark:
            raise RegistryError(f"{path}: the field auth of {key} is not the base64 of a user and a password.")
    if not all(isinstance(text, str) for text in (identity, username, password)):
        raise RegistryError(f"{path}: the entry {key} is not valid.")
    if not identity and not username:
        return None
    return Credentials(str(path), username, password.rstrip("\0"), identity)


def _from_helper(path: Path, name: Any, prefix: Prefix, environ: Mapping[str, str]) -> Credentials | None:
    """Run a helper. Its output is never shown, because it may contain the secret."""
    if not isinstance(name, str) or not _HELPER.fullmatch(name):
        raise RegistryError(f"{path} names a credential helper that is not valid.")
    program = f"docker-credential-{name}"
    server = _HUB_KEY if prefix.host == DOCKER_HUB else prefix.host
    try:
        done = subprocess.run(
            [program, "get"], input=server.encode(), capture_output=True, timeout=_HELPER_LIMIT, env=dict(environ)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = "did not answer in time" if isinstance(error, subprocess.TimeoutExpired) else "cannot be run"
        raise RegistryError(f"The credential helper {program}, which {path} names, {problem}.") from None
    if done.returncode != 0 and _UNKNOWN in done.stdout.decode(errors="replace").lower():
        return None
    try:
        found = json.loads(done.stdout if done.returncode == 0 else b"{}")
        username, secret = found["Username"], found["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        username = secret = None
    if not isinstance(username, str) or not isinstance(secret, str):
        raise RegistryError(
            f"The credential helper {program}, which {path} names, failed. Try `echo {server} | {program} get`."
        )
    if username == _IDENTITY:
        return Credentials(program, identity_token=secret)
    return Credentials(program, username, secret)
