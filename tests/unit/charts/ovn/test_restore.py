"""OVN's northbound database is restored from Neutron's after a loss, completely, and at no other time."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.paths import ROOT

OPTIONS = {
    "ovn_nb_connection": "ssl:a:1,ssl:b:1",
    "ovn_nb_private_key": "k",
    "ovn_nb_certificate": "c",
    "ovn_nb_ca_cert": "a",
}
FILES = ["--config-file", "/etc/neutron/neutron.conf"]
# Stand-ins: the database is the file `world`, which a failing tool leaves with the networks that it has written.
CLIENT = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(sys.argv[0]).parent
with (folder / "asked").open("a") as asked: asked.write(" ".join(sys.argv[1:-1]) + "\\n")
if (folder / "refused").exists():
    (folder / "refused").unlink()
    sys.exit("no leader")
world = json.loads((folder / "world").read_text())
results = []
for each in json.loads(sys.argv[-1])[1:]:
    if each["op"] == "mutate":
        [[column, how, (kind, values)]] = each["mutations"]
        ids = world["ids"] = {{**world["ids"], **dict(values)}} if how == "insert" else {{}}
        results.append({{"count": 0 if (folder / "young").exists() else 1}})
        (folder / "young").unlink(missing_ok=True)
    elif each["table"] == "NB_Global":
        results.append({{"rows": [{{"external_ids": ["map", [list(pair) for pair in world["ids"].items()]]}}]}})
    else:
        results.append({{"rows": [{{"name": name}} for name in world["switches"]]}})
(folder / "world").write_text(json.dumps(world))
print(json.dumps(results))
"""
TOOL = """#!/bin/sh
echo "tool $OS_OVN__NEUTRON_SYNC_MODE $*" >>{folder}/asked
grep -q stackwright-restores {folder}/world || exit 9
test ! -e {folder}/broken || {{ rm {folder}/broken; exit 3; }}
"""


@pytest.fixture
def restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, text in {"ovsdb-client": CLIENT, "neutron-ovn-db-sync-util": TOOL}.items():
        path = tmp_path / name
        path.write_text(text.format(python=sys.executable, folder=tmp_path))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "charts/neutron/bin")
        module = importlib.import_module("restore")
        monkeypatch.setattr(module.schema.time, "sleep", lambda seconds: None)
        yield module
        for name in ("restore", "schema"):
            del sys.modules[name]


class Server:
    """A database of Neutron with these networks, which are not new."""

    def __init__(self, networks: list[str]) -> None:
        self.networks = networks

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cursor(self) -> Server:
        return self

    def execute(self, statement: str) -> None:
        assert "created_at < UTC_TIMESTAMP() - INTERVAL 60 SECOND" in statement

    def fetchall(self) -> list[tuple[str]]:
        return [(name,) for name in self.networks]


def run(restore: ModuleType, folder: Path, networks: str, switches: str, **ids: str) -> list[str]:
    """What is asked, for the networks of Neutron and of OVN."""
    restore.schema.connect = lambda url: Server(networks.split())
    world: dict[str, Any] = {"switches": [f"neutron-{name}" for name in switches.split()], "ids": ids}
    (folder / "world").write_text(json.dumps(world))
    restore.restore(OPTIONS, "mysql://…", FILES)
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize(("networks", "switches"), [("", ""), ("a", "a"), ("a", "a b"), ("", "b")])
def test_a_complete_database_is_only_read(restore: ModuleType, tmp_path: Path, networks: str, switches: str) -> None:
    """The tool deletes ports that users create while it runs."""
    [asked] = run(restore, tmp_path, networks, switches)
    assert asked == "--private-key=k --certificate=c --ca-cert=a --timeout=60 query ssl:a:1,ssl:b:1"


@pytest.mark.parametrize("switches", ["", "a", "x"], ids=["empty", "partial", "only a new one"])
def test_lost_networks_are_restored(restore: ModuleType, tmp_path: Path, switches: str) -> None:
    asked = run(restore, tmp_path, "a b", switches)
    assert asked[2:3] == ["tool repair --config-file /etc/neutron/neutron.conf"]
    assert [each.split()[4] for each in asked if not each.startswith("tool")] == ["query", "transact", "transact"]
    assert json.loads((tmp_path / "world").read_text())["ids"] == {}


def test_an_interrupted_restoration_is_repeated(restore: ModuleType, tmp_path: Path) -> None:
    """Networks come first, ports and routers later."""
    (tmp_path / "broken").touch()
    with pytest.raises(subprocess.CalledProcessError):
        run(restore, tmp_path, "a", "")
    left = json.loads((tmp_path / "world").read_text())["ids"]
    assert left == {restore.MARK: "true"}
    (tmp_path / "asked").unlink()
    assert "tool repair --config-file /etc/neutron/neutron.conf" in run(restore, tmp_path, "a", "a", **left)
    assert json.loads((tmp_path / "world").read_text())["ids"] == {}


def test_it_waits_for_a_leader_and_for_the_first_row(
    restore: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "refused").touch()
    (tmp_path / "young").touch()
    asked = run(restore, tmp_path, "a", "")
    assert [each.split()[4] for each in asked if not each.startswith("tool")] == [
        *("query", "query"),
        *("transact", "transact", "transact"),
    ]
    out = capsys.readouterr().out
    assert "Waiting for OVN's northbound database: no leader" in out
    assert "Waiting for OVN's northbound database: transact: {'count': 0}" in out
