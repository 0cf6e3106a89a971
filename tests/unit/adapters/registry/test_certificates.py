"""CAs: the machine's own, those of `--ca`, and those of the first folder that knows the registry."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stackwright.adapters.registry.certificates import context, folders
from stackwright.adapters.registry.errors import RegistryError
from stackwright.runtime import x509

HOST = "registry.test:5000"


def ca(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(x509.authority(name, time.time())["ca.crt"])
    return path


def trusted(given: Path | None, places: list[Path]) -> set[str]:
    """Names of the CAs beyond those of the machine."""
    found = (dict(part[0] for part in each["subject"]) for each in context(HOST, given, places).get_ca_certs())
    return {str(each.get("commonName")) for each in found} & {"given", "own", "second", "system", "key"}


def test_a_given_ca_is_added_to_those_of_the_first_folder_that_knows_the_registry(tmp_path: Path) -> None:
    places = [tmp_path / "user", tmp_path / "system"]
    given = ca(tmp_path / "given.pem", "given")
    assert trusted(None, places) == set()
    ca(tmp_path / "system" / HOST / "ca.crt", "system")
    ca(tmp_path / "system/other.test/ca.crt", "own")
    assert trusted(given, places) == {"given", "system"}
    ca(tmp_path / "user" / HOST / "ca.crt", "own")
    ca(tmp_path / "user" / HOST / "second.crt", "second")
    ca(tmp_path / "user" / HOST / "client.key", "key")
    assert trusted(None, places) == {"own", "second"}


def test_the_folders_are_those_of_podman_and_docker(tmp_path: Path) -> None:
    system = [Path("/etc/containers/certs.d"), Path("/etc/docker/certs.d")]
    assert folders({"HOME": "/home/user"}) == [Path("/home/user/.config/containers/certs.d"), *system]
    assert folders({"XDG_CONFIG_HOME": "/config"}) == [Path("/config/containers/certs.d"), *system]


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"absent.pem cannot be read: No such file"):
        context(HOST, tmp_path / "absent.pem", [])
    (tmp_path / HOST).mkdir()
    (tmp_path / HOST / "ca.crt").write_text("none")
    with pytest.raises(RegistryError, match=r"ca.crt has no certificates in PEM format"):
        context(HOST, None, [tmp_path])
