"""The keys of Simple Crypto: read at each use, the primary first; and what a rewrap reports."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/barbican/bin"


def module(monkeypatch: pytest.MonkeyPatch, path: str, **content: Any) -> Any:
    """A module of Barbican, and its packages."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        name = ".".join(names[:end])
        if name not in sys.modules:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        if end > 1:
            setattr(sys.modules[".".join(names[: end - 1])], names[end - 1], sys.modules[name])
    found = sys.modules[path]
    vars(found).update(content)
    return found


class Plugin:
    """The parts of Barbican's plug-in that matter here."""

    def __init__(self) -> None:
        self.master_keys = ["the key that everybody knows"]


@pytest.fixture
def kek(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    module(monkeypatch, "barbican.plugin.crypto.simple_crypto", SimpleCryptoPlugin=type("Plugin", (Plugin,), {}))
    loaded = runpy.run_path(str(BIN / "kek.py"))
    loaded["keys"].__globals__["FOLDER"] = tmp_path
    loaded["install"]()
    return SimpleNamespace(folder=tmp_path, **loaded)


def write(folder: Path, **keys: str) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, key in keys.items():
        (folder / name.removeprefix("k")).write_text(key)


def plugin() -> Any:
    return sys.modules["barbican.plugin.crypto.simple_crypto"].SimpleCryptoPlugin()  # type: ignore[attr-defined]


def test_the_highest_number_encrypts_and_the_staged_key_is_last(kek: Any) -> None:
    write(kek.folder, k0="staged", k1="old", k2="older than ten", k10="primary\n", **{"..data": "x"})
    assert plugin().master_keys == ["primary", "older than ten", "old", "staged"]


def test_a_rotation_needs_no_restart(kek: Any) -> None:
    write(kek.folder, k0="a", k1="b")
    running = plugin()
    assert running.master_keys == ["b", "a"]
    write(kek.folder, k0="c", k1="b", k2="a")
    assert running.master_keys == ["a", "b", "c"]


def test_without_keys_nothing_is_encrypted_by_the_public_default(kek: Any) -> None:
    with pytest.raises(RuntimeError, match="contains no key"):
        _ = plugin().master_keys


@pytest.mark.parametrize("broken", [False, True])
def test_a_rewrap_reports_what_failed(
    kek: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, broken: bool
) -> None:
    write(kek.folder, k0="a", k1="b")

    class Barbicans:
        """Prints what fails, and goes on."""

        master_keys: list[str]

        def __init__(self, conf: object) -> None:
            self.master_keys = ["the key that everybody knows"]

        def rewrap_kek(self, project: str, kek_datum: str) -> None:
            assert self.master_keys == ["b", "a"]
            if kek_datum == "broken":
                raise ValueError(kek_datum)

        def execute(self, dry_run: bool = True) -> None:
            assert not dry_run
            for each in ["good", *(["broken"] if broken else [])]:
                try:
                    self.rewrap_kek("p", each)
                except ValueError:
                    print("Error occurred!")

    module(monkeypatch, "barbican.cmd.simple_crypto_kek_rewrap", SimpleCryptoKEKRewrap=Barbicans, CONF=None)
    monkeypatch.setitem(sys.modules, "kek", kek)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(BIN / "rewrap.py"))
    assert end.value.code == int(broken)
    assert f"1 keys of projects are encrypted with the primary key, {int(broken)} are not" in capsys.readouterr().out
