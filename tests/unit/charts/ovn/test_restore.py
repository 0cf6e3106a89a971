"""OVN's northbound database is restored from Neutron's after a loss, completely, and at no other time."""

from __future__ import annotations

import importlib
import json
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
# Stand-ins. The file `world` has the resources of Neutron and of OVN, and the external ids of NB_Global.
CLIENT = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(sys.argv[0]).parent
with (folder / "asked").open("a") as asked: asked.write(" ".join(sys.argv[1:-1]) + "\\n")
if (folder / "refused").exists():
    (folder / "refused").unlink()
    sys.exit("no leader")
world = json.loads((folder / "world").read_text())
tables = {{"Logical_Switch": "networks", "Logical_Router": "routers", "Logical_Switch_Port": "ports"}}
results = []
for each in json.loads(sys.argv[-1])[1:]:
    if each["op"] == "mutate":
        [[column, how, (kind, values)]] = each["mutations"]
        if how == "insert":
            world["ids"] |= dict(values)
        else:
            world["ids"] = {{name: value for name, value in world["ids"].items() if name not in values}}
        result = {{"count": 1}}
        for name, other in {{"young": {{"count": 0}}, "failed": {{"error": "constraint violation"}}}}.items():
            if (folder / name).exists():
                (folder / name).unlink()
                result = other
                break
        results.append(result)
    elif each["table"] == "NB_Global":
        results.append({{"rows": [{{"external_ids": ["map", [list(pair) for pair in world["ids"].items()]]}}]}})
    else:
        results.append({{"rows": [{{"name": name}} for name in world["ovn"][tables[each["table"]]]]}})
(folder / "world").write_text(json.dumps(world))
print(json.dumps(results))
"""
# It copies what Neutron has, without the last port as long as the file `broken` has a line.
TOOL = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[0]).parent
mode = os.environ["OS_OVN__NEUTRON_SYNC_MODE"]
with (folder / "asked").open("a") as asked: asked.write(f"tool {{mode}} {{' '.join(sys.argv[1:])}}\\n")
world = json.loads((folder / "world").read_text())
assert "stackwright-restores" in world["ids"]
if (folder / "ends").exists():
    sys.exit(3)
prefixes = {{"networks": "neutron-", "routers": "neutron-", "ports": ""}}
world["ovn"] = {{name: [prefixes[name] + id_ for id_ in ids] for name, ids in world["neutron"].items()}}
broken = folder / "broken"
if lines := broken.read_text().splitlines() if broken.exists() else []:
    broken.write_text("\\n".join(lines[1:]))
    world["ovn"]["ports"].pop()
(folder / "world").write_text(json.dumps(world))
"""


def id_of(letter: str) -> str:
    """The id of a resource of a test; of a name of OVN, the same letter in the id."""
    return f"{ord(letter):08x}-0000-4000-8000-000000000000"


@pytest.fixture
def restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, text in {"ovsdb-client": CLIENT, "neutron-ovn-db-sync-util": TOOL}.items():
        path = tmp_path / name
        path.write_text(text.format(python=sys.executable))
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
    """Neutron's database; an upper-case letter is a recent resource. OVN must be read first."""

    def __init__(self, resources: dict[str, str], asked: Path) -> None:
        self.resources, self.asked = resources, asked
        self.rows: list[tuple[str, int]] = []

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cursor(self) -> Server:
        return self

    def execute(self, statement: str) -> None:
        [table] = [name for name in self.resources if f"FROM {name} AS" in statement]
        assert "created_at < UTC_TIMESTAMP() - INTERVAL 60 SECOND" in statement
        assert statement.endswith(" WHERE resource.device_owner <> 'network:floatingip'") == (table == "ports")
        assert " ON resource.standard_attr_id = facts.id" in statement
        assert " query " in self.asked.read_text()
        self.rows = [(id_of(each.lower()), int(each.islower())) for each in self.resources[table].split()]

    def fetchall(self) -> list[tuple[str, int]]:
        return self.rows


def run(restore: ModuleType, folder: Path, neutron: dict[str, str], ovn: dict[str, str], **ids: str) -> list[str]:
    """What is asked, for the networks, routers and ports of Neutron and of OVN."""
    here, there = ({name: each.get(name, "") for name in restore.TABLES} for each in (neutron, ovn))
    restore.schema.connect = lambda url: Server(here, folder / "asked")
    names = {name: ["provnet-" + id_of("z")] for name in there}  # no resource of Neutron
    for name, letters in there.items():
        names[name] += [("" if name == "ports" else "neutron-") + id_of(each) for each in letters.split()]
    known = {name: [id_of(each.lower()) for each in letters.split()] for name, letters in here.items()}
    world: dict[str, Any] = {"neutron": known, "ovn": names, "ids": {"other": "true", **ids}}
    (folder / "world").write_text(json.dumps(world))
    (folder / "asked").write_text("")
    restore.restore(OPTIONS, "mysql://…", FILES)
    return (folder / "asked").read_text().splitlines()


def marks(folder: Path) -> dict[str, str]:
    ids: dict[str, str] = json.loads((folder / "world").read_text())["ids"]
    assert ids.pop("other") == "true"
    return ids


ALL = {"networks": "a b", "routers": "r", "ports": "p q"}
RAN = "tool repair --config-file /etc/neutron/neutron.conf"


@pytest.mark.parametrize(
    ("neutron", "ovn"),
    [
        ({}, {}),
        (ALL, ALL),
        ({"networks": "a B", "routers": "R"}, {"networks": "a"}),  # Neutron writes the recent ones now
        (ALL, {**ALL, "ports": "p"}),  # the maintenance worker restores single ports
        ({}, ALL),
    ],
    ids=["new", "complete", "recent", "port", "unknown"],
)
def test_a_database_that_lost_no_network_is_only_read(
    restore: ModuleType, tmp_path: Path, neutron: dict[str, str], ovn: dict[str, str]
) -> None:
    """The tool deletes ports that users create while it runs."""
    [asked] = run(restore, tmp_path, neutron, ovn)
    assert asked == "--private-key=k --certificate=c --ca-cert=a --timeout=60 query ssl:a:1,ssl:b:1"


@pytest.mark.parametrize("ovn", [{}, {"networks": "a", "ports": "p"}, {**ALL, "routers": ""}])
def test_lost_networks_and_routers_are_restored(restore: ModuleType, tmp_path: Path, ovn: dict[str, str]) -> None:
    asked = run(restore, tmp_path, {**ALL, "networks": "a b C"}, ovn)
    assert asked[2] == RAN
    assert [each.split()[4] for each in asked if not each.startswith("tool")] == [
        *("query", "transact", "query", "transact")
    ]
    assert marks(tmp_path) == {}


@pytest.mark.parametrize("newer", [{"networks": "a c"}, {"networks": "a", "ports": "s"}, {"routers": "s"}])
def test_networks_that_an_older_dump_of_neutron_lacks_are_not_deleted(
    restore: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], newer: dict[str, str]
) -> None:
    """A network that was deleted after the dump looks like a lost one."""
    assert len(run(restore, tmp_path, ALL, newer)) == 1
    assert "that Neutron lacks: not restored" in capsys.readouterr().err


def test_an_interrupted_restoration_is_repeated(restore: ModuleType, tmp_path: Path) -> None:
    """Networks come first, ports and routers later."""
    (tmp_path / "ends").touch()
    with pytest.raises(restore.subprocess.CalledProcessError):
        run(restore, tmp_path, ALL, {})
    left = marks(tmp_path)
    assert left == {restore.MARK: "true"}
    (tmp_path / "ends").unlink()
    assert RAN in run(restore, tmp_path, ALL, {**ALL, "ports": "p"}, **left)
    assert marks(tmp_path) == {}


def test_a_tool_that_skips_a_port_is_repeated_now_and_at_the_next_start(
    restore: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reports success."""
    (tmp_path / "broken").write_text("once\n")
    assert run(restore, tmp_path, ALL, {}).count(RAN) == 2
    assert marks(tmp_path) == {}
    (tmp_path / "broken").write_text("each\ntime\nagain\n")
    assert run(restore, tmp_path, ALL, {}).count(RAN) == restore.ATTEMPTS
    assert marks(tmp_path) == {restore.MARK: "true"}
    assert "OVN still lacks 1 ports: the next start of this program continues" in capsys.readouterr().err


def test_a_marked_database_with_unknown_resources_is_not_touched(restore: ModuleType, tmp_path: Path) -> None:
    assert RAN not in run(restore, tmp_path, ALL, {**ALL, "ports": "p s"}, **{restore.MARK: "true"})
    assert marks(tmp_path) == {restore.MARK: "true"}
    assert RAN not in run(restore, tmp_path, ALL, ALL, **{restore.MARK: "true"})
    assert marks(tmp_path) == {}, "nothing is missing"


def test_it_waits_for_a_leader_and_for_the_first_row(
    restore: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "refused").touch()
    (tmp_path / "young").touch()
    (tmp_path / "failed").touch()
    asked = run(restore, tmp_path, ALL, {})
    assert [each.split()[4] for each in asked if not each.startswith("tool")] == [
        *("query", "query"),
        *("transact", "transact", "transact", "query", "transact"),
    ]
    out = capsys.readouterr().out
    assert "Waiting for OVN's northbound database: no leader" in out
    assert "Waiting for OVN's northbound database: transact: {'count': 0}" in out
    assert "Waiting for OVN's northbound database: transact: {'error': 'constraint violation'}" in out
