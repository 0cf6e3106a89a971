"""Processes of Neutron get addresses of OVN's databases, and wait until one of each accepts connections."""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT

FOLDER = ROOT / "charts/neutron/bin"


@pytest.fixture(scope="module")
def ovn() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("ovn")
        for name in ("ovn", "schema"):
            del sys.modules[name]


@pytest.fixture
def database() -> Iterator[int]:
    """The port of a server on 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def conf(folder: Path, **options: str) -> Path:
    path = folder / "ml2_conf.ini"
    path.write_text("[ml2]\nx = %1\n[ovn]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()))
    return path


def test_name_becomes_an_address(ovn: ModuleType, tmp_path: Path, database: int) -> None:
    path = conf(tmp_path, ovn_nb_connection=f"tcp:localhost:{database}", ovn_sb_connection=f"ssl:127.0.0.1:{database}")
    assert ovn.variables(ovn.options_of(path)) == {
        "OS_OVN__OVN_NB_CONNECTION": f"tcp:127.0.0.1:{database}",
        "OS_OVN__OVN_SB_CONNECTION": f"ssl:127.0.0.1:{database}",
    }


def test_without_ovn_nothing_is_set(ovn: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "ml2_conf.ini"
    path.write_text("[ml2]\nmechanism_drivers = openvswitch\n")
    assert ovn.variables(ovn.options_of(path)) == {}
    assert ovn.variables(ovn.options_of(tmp_path / "missing")) == {}


def test_one_of_three_is_enough_if_all_have_addresses(
    ovn: ModuleType, tmp_path: Path, database: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that does not resolve for a moment would be unknown for the life of the process."""
    resolve, rounds = socket.getaddrinfo, iter(range(9))

    def late(host: str, *more: object, **options: object) -> object:
        if host == "late" and next(rounds) < 2:
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return resolve("127.0.0.1" if host == "late" else host, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", late)
    monkeypatch.setattr(ovn.schema.time, "sleep", lambda seconds: None)
    remotes = f"tcp:127.0.0.1:1,tcp:127.0.0.1:{database},tcp:late:1"
    found = ovn.variables(ovn.options_of(conf(tmp_path, ovn_nb_connection=remotes)))
    assert found == {"OS_OVN__OVN_NB_CONNECTION": f"tcp:127.0.0.1:1,tcp:127.0.0.1:{database},tcp:127.0.0.1:1"}
    assert "late:1: Temporary failure in name resolution" in capsys.readouterr().err


def test_it_waits_and_names_the_cause(
    ovn: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    port = server.getsockname()[1]
    rounds = iter(range(10))

    def sleep(seconds: float) -> None:
        if next(rounds) == 2:
            server.listen()

    monkeypatch.setattr(ovn.schema.time, "sleep", sleep)
    path = conf(tmp_path, ovn_sb_connection=f"tcp:127.0.0.1:{port}")
    assert ovn.variables(ovn.options_of(path)) == {"OS_OVN__OVN_SB_CONNECTION": f"tcp:127.0.0.1:{port}"}
    text = capsys.readouterr().err
    assert text == f"Waiting for OVN's database (ovn_sb_connection): 127.0.0.1:{port}: Connection refused\n"
    server.close()
