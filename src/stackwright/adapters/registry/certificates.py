"""Trusted CAs: those of the machine, those of a registry as for podman and Docker, and those of `--ca`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from stackwright.adapters.registry.errors import RegistryError

_SYSTEM = (Path("/etc/containers/certs.d"), Path("/etc/docker/certs.d"))


def folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of containers-certs.d(5). The first one that contains a registry is used."""
    config = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or "/root", ".config")
    return [Path(config, "containers/certs.d"), *_SYSTEM]


def context(host: str, ca: Path | None, places: list[Path]) -> ssl.SSLContext:
    """Return the TLS settings for a registry. Raises RegistryError for a file without certificates."""
    trusted = ssl.create_default_context()
    found = next((place / host for place in places if (place / host).is_dir()), None)
    for path in [*([ca] if ca else []), *(sorted(found.glob("*.crt")) if found else [])]:
        try:
            trusted.load_verify_locations(path)
        except ssl.SSLError:
            raise RegistryError(f"{path} has no certificates in PEM format.") from None
        except OSError as error:
            raise RegistryError(f"{path} cannot be read: {error.strerror}.") from None
    return trusted
