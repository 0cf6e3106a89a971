"""An interrupted first migration starts again; a database with a user's tables is only migrated."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/lib/bin/migrate.py"
SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder")
MARK = "stackwright_first_migration"
VERSION = "alembic_version"
WHOLE = {"networks", "ports", VERSION}


class Killed(BaseException):
    """What no program handles."""


class LostConnection(Exception):
    """The error of the library."""


class Server:
    """One database of MariaDB: DDL takes effect at once. `statements_left` is when its client is killed."""

    def __init__(self, *tables: str) -> None:
        self.tables = set(tables)
        self.holder: object = None
        self.rows: dict[str, int] = {}
        self.comments: dict[str, str] = {}
        self.busy = 0  # attempts that another process holds the lock
        self.failovers = 0  # attempts to remove the mark that fail
        self.statements_left = -1
        self.checks_foreign_keys = True

    def run(self, client: object, statement: str) -> list[tuple[Any, ...]]:
        if self.statements_left == 0:
            raise Killed
        self.statements_left -= 1
        if "GET_LOCK" in statement:
            self.busy -= 1
            if self.busy >= 0:
                return [(0,)]
            self.holder = client
            return [(1,)]
        if statement.startswith("SELECT table_comment FROM information_schema.tables"):
            return [(self.comments[MARK],)] if MARK in self.tables else []
        if statement == f"DROP TABLE IF EXISTS shadow_{MARK}, {MARK}":
            self.failovers -= 1
            if self.failovers >= 0:
                raise LostConnection
            self.tables -= {MARK, f"shadow_{MARK}"}
            return []
        assert self.holder is client, "without the lock"
        if found := re.fullmatch(r"SELECT COUNT\(\*\) FROM \(SELECT 1 FROM `(\w+)` LIMIT 101\) AS found", statement):
            return [(min(self.rows.get(found[1], 0), 101),)]
        if found := re.fullmatch(r"CREATE OR REPLACE TABLE (\w+) .* COMMENT = '(\w+)'", statement):
            self.tables.add(found[1])
            self.comments[found[1]] = found[2]
            return []
        if statement.startswith("SHOW FULL TABLES"):
            return [(name, "BASE TABLE") for name in sorted(self.tables)]
        if statement == "SET wsrep_sync_wait = 1":
            return []
        if statement.startswith("SET FOREIGN_KEY_CHECKS = 0"):
            self.checks_foreign_keys = False
        elif found := re.fullmatch(r"CREATE TABLE (\w+) .*", statement):
            assert found[1] not in self.tables, f"Table '{found[1]}' already exists"
            self.tables.add(found[1])
        elif found := re.fullmatch(r"DROP TABLE (.*)", statement):
            dropped = {name.strip("`") for name in found[1].split(", ")}
            assert dropped <= self.tables
            assert not self.checks_foreign_keys
            self.tables -= dropped
        else:
            raise AssertionError(statement)
        return []


class Client:
    """A connection and its cursor."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.rows: list[tuple[Any, ...]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server.holder is self:
            self.server.holder = None

    def cursor(self) -> Any:
        client = self

        class Cursor:
            def __enter__(self) -> Cursor:
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def execute(self, statement: str, arguments: tuple[Any, ...] = ()) -> None:
                client.rows = client.server.run(client, statement)

            def fetchone(self) -> tuple[Any, ...]:
                return client.rows[0]

            def fetchall(self) -> list[tuple[Any, ...]]:
                return client.rows

        return Cursor()


def pymysql() -> ModuleType:
    """The names of the library that scripts mention when they are loaded."""
    made = ModuleType("pymysql")
    made.cursors = ModuleType("cursors")  # type: ignore[attr-defined]
    made.cursors.Cursor = object
    made.Connection, made.MySQLError = Exception, LostConnection  # type: ignore[attr-defined]
    return made


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def migrate(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The script, whose connections lead to the server."""
    schema = ModuleType("schema")
    schema.MARK = MARK  # type: ignore[attr-defined]
    schema.connect = lambda url: Client(server)  # type: ignore[attr-defined]
    schema.connection_of = lambda snippets, section: f"{section} of {snippets}"  # type: ignore[attr-defined]
    for name, module in (("schema", schema), ("pymysql", pymysql())):
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("migrate", SCRIPT)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script.time, "sleep", lambda seconds: None)
    yield script


def run(migrate: Any, server: Server) -> bool:
    """A migration, which records its version last. Returns whether it was the first one."""
    with migrate.marked("mysql+pymysql://…") as first:
        if VERSION not in server.tables:
            for name in ("networks", "ports", VERSION):
                server.run(server.holder, f"CREATE TABLE {name} (id INTEGER)")
    return bool(first)


def test_complete_migration_leaves_no_mark(migrate: Any, server: Server) -> None:
    assert run(migrate, server)
    assert server.tables == WHOLE


@pytest.mark.parametrize("killed_after", range(10))
def test_killed_first_migration_starts_again_at_any_point(migrate: Any, server: Server, killed_after: int) -> None:
    server.statements_left = killed_after
    with suppress(Killed):
        run(migrate, server)
    server.statements_left = -1
    run(migrate, server)
    assert server.tables == WHOLE


@pytest.mark.parametrize("killed_after", range(11))
def test_kill_during_the_second_attempt(migrate: Any, server: Server, killed_after: int) -> None:
    server.tables = {MARK, "networks", f"shadow_{MARK}"}
    server.statements_left = killed_after
    with pytest.raises(Killed):
        run(migrate, server)
    server.statements_left = -1
    assert run(migrate, server)
    assert server.tables == WHOLE


@pytest.mark.parametrize("rows", [100, 101])
def test_restored_dump_in_a_marked_database_is_kept(migrate: Any, server: Server, rows: int) -> None:
    server.tables = {MARK, *WHOLE}
    server.rows = {"networks": rows - 1, VERSION: 1}
    if rows > 100:
        with pytest.raises(SystemExit, match=f"there are many rows: drop table {MARK} to keep them"):
            run(migrate, server)
        assert server.tables == {MARK, *WHOLE}
    else:
        assert run(migrate, server)
        assert server.tables == WHOLE


def test_mark_is_removed_after_a_failover(migrate: Any, server: Server) -> None:
    server.failovers = 5
    assert run(migrate, server)
    assert server.tables == WHOLE
    server.tables, server.failovers = set(), 1000
    with pytest.raises(LostConnection):
        run(migrate, server)
    assert server.tables == {MARK, *WHOLE}


def test_process_that_lost_its_lock_does_not_end_the_migration_of_another_one(migrate: Any, server: Server) -> None:
    """The lock is of one server of Galera: after a failover, another process may begin the migration again."""
    with pytest.raises(SystemExit, match="begun this migration again"), migrate.marked("mysql+pymysql://…"):
        server.run(server.holder, "CREATE TABLE networks (id INTEGER)")
        server.holder = None
        with suppress(Killed), migrate.marked("mysql+pymysql://…"):
            raise Killed
    assert server.tables == {MARK}
    assert run(migrate, server)
    assert server.tables == WHOLE


def test_first_migration_that_fails_on_an_empty_database_is_an_error(migrate: Any, server: Server) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="out of disk"), migrate.marked("mysql+pymysql://…"):
            raise ValueError("out of disk")
        assert server.tables == {MARK}


def test_tables_of_a_user_are_never_dropped(migrate: Any, server: Server) -> None:
    server.tables = {"networks"}
    for _ in range(2):
        with pytest.raises(AssertionError, match="already exists"):
            run(migrate, server)
        assert server.tables == {"networks"}
    server.tables = {VERSION, "networks"}
    assert not run(migrate, server)
    assert server.tables == {VERSION, "networks"}


def test_second_process_waits(migrate: Any, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.busy = 2
    run(migrate, server)
    assert capsys.readouterr().out.count("Waiting for another process") == 2


@pytest.mark.parametrize(("code", "tables"), [("0", set()), ("3", {MARK})])
def test_program_ends_with_the_code_of_its_command(
    migrate: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, tables: set[str]
) -> None:
    command = tmp_path / "neutron-db-manage"
    command.write_text("import sys\nassert sys.argv[0].endswith('neutron-db-manage')\nsys.exit(int(sys.argv[1]))\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", sys.argv)
    with pytest.raises(SystemExit, match=code):
        migrate.main("/etc/neutron/neutron.conf.d", "database", "neutron-db-manage", code)
    assert server.tables == tables


def test_missing_command_is_named(migrate: Any) -> None:
    with pytest.raises(SystemExit, match="neutron-db-manage: not found"):
        migrate.main("/etc/neutron/neutron.conf.d", "database", "neutron-db-manage")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the scripts that wait."""
    spec = importlib.util.spec_from_file_location("schema", ROOT / "charts/lib/bin/schema.py")
    assert spec
    assert spec.loader
    monkeypatch.setitem(sys.modules, "pymysql", pymysql())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_version_is_known_while_the_database_is_marked(script: Any) -> None:
    """Otherwise an API could write rows that a repeated migration drops."""

    class Cursor:
        def __init__(self, *tables: str) -> None:
            self.tables = tables

        def execute(self, statement: str, arguments: tuple[str, ...] = ()) -> int:
            return len({*arguments} & {*self.tables})

        def fetchall(self) -> list[tuple[str]]:
            return [("head",)]

    assert script.MARK == MARK
    assert script.versions(Cursor(VERSION)) == {"head"}
    assert script.versions(Cursor(VERSION, MARK)) == set()


def test_an_api_of_any_version_waits_for_the_end_of_the_first_migration(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = iter([set[str](), set[str](), {"head"}])
    server = SimpleNamespace(cursor=nullcontext)
    monkeypatch.setattr(script, "connect", lambda url: nullcontext(server))
    monkeypatch.setattr(script, "versions", lambda cursor: next(states))
    monkeypatch.setattr(script.time, "sleep", lambda seconds: None)
    script.wait_for_any("url")
    assert next(states, None) is None
    assert capsys.readouterr().out == "Waiting for the database's schema: no version\n"


@pytest.mark.parametrize("chart", ["placement", "cinder", "nova", "neutron", "glance", "heat"])
def test_apis_ask_for_the_version_in_that_way(chart: str) -> None:
    scripts = [path.read_text() for path in (ROOT / "charts" / chart / "bin").glob("*.*") if path.name != "schema.py"]
    assert any("schema.versions(cursor)" in text or "schema.wait_for" in text for text in scripts)


@pytest.mark.parametrize("service", SERVICES)
def test_each_database_is_migrated_by_it(service: str) -> None:
    chart = ROOT / "charts" / service
    assert (chart / "bin/migrate.py").resolve() == SCRIPT
    job = next(path for path in chart.glob("templates/_job*.tpl") if f"{service}.db_sync" in path.read_text())
    script = chart / "bin/db-sync.py"
    if script.exists():
        assert "/opt/stackwright/db-sync.py" in job.read_text()
        assert "migrate.marked(" in script.read_text()
    else:
        section = "placement_database" if service == "placement" else "database"
        assert f"/opt/stackwright/migrate.py, /etc/{service}/{service}.conf.d, {section}, {service}-" in job.read_text()
