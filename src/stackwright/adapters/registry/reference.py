"""Names in registries. Each is checked before it becomes part of a URL or of a path."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx2

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL}){{0,20}}|\[[0-9a-f:.]{{2,45}}\])(?::[0-9]{{1,5}})?", re.IGNORECASE)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 255  # characters of a repository, by the specification
PORTS = range(1, 1 << 16)
DOCKER_HUB = "docker.io"
_HUB_HOSTS = {"index.docker.io", "registry-1.docker.io"}
_FORM = "REGISTRY/PREFIX, such as registry.example.org/stackwright"


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True)
class Image:
    """An image below a prefix. tag  the tag or digest with which it is requested"""

    name: str
    repository: str
    tag: str


@dataclass(frozen=True)
class Prefix:
    """Location of images in a registry. host  with the port, as in references; path  may be empty"""

    host: str
    path: str

    @property
    def api_host(self) -> str:
        return "registry-1.docker.io" if self.host == DOCKER_HUB else self.host

    def repository(self, name: str) -> str:
        """The repository of an image. Raises ValueError for a name that no registry accepts."""
        repository = f"{self.path}/{name}" if self.path else name
        if len(repository) > _LONGEST or not _PATH.fullmatch(repository):
            raise ValueError(
                f"a name has lower-case letters, digits, and single . _ - / between them, at most {_LONGEST} characters"
            )
        return repository

    def image(self, title: str) -> Image:
        """Parse the part of a reference after the prefix. Raises ValueError with the violated rule."""
        name, at, digest = title.partition("@")
        name, colon, tag = name.partition(":")
        repository = self.repository(name)
        if colon and not _TAG.fullmatch(tag):
            raise ValueError("a tag has at most 128 letters, digits and . _ - and begins with no . or -")
        if at and not is_digest(digest):
            raise ValueError("a digest is sha256: and 64 digits, of which letters are a to f")
        return Image(name, repository, digest if at else tag or "latest")

    def reference(self, title: str) -> str:
        return f"{self}/{title}"

    def __str__(self) -> str:
        return f"{self.host}/{self.path}" if self.path else self.host


def prefix(text: str) -> Prefix:
    """Parse a prefix. Raises ValueError with the required form."""
    if "://" in text:
        raise ValueError(f"leave out the scheme: {_FORM}")
    host, _, path = text.rstrip("/").partition("/")
    if not _HOST.fullmatch(host) or not (re.search(r"[.:]", host) or host == "localhost"):
        raise ValueError(f"must begin with the host of a registry: {_FORM}")
    try:
        port = httpx2.URL(f"https://{host}/").port
    except httpx2.InvalidURL:
        port = 0
    if port is not None and port not in PORTS:
        raise ValueError(f"begins with a host or port that is not valid: {_FORM}")
    if ":" in path or "@" in path:
        raise ValueError(f"must have no tag or digest: {_FORM}")
    if path and not _PATH.fullmatch(path):
        raise ValueError("after the host, a prefix has lower-case letters, digits, and single . _ - / between them")
    if len(path) > _LONGEST - 64:
        raise ValueError("is too long")
    host = host.lower()
    return Prefix(DOCKER_HUB if host in _HUB_HOSTS else host, path)
