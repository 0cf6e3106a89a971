"""An interrupted first migration starts again; a database with a user's tables is only migrated."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/lib/bin/migrate.py"
SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder")
MARK = "stackwright_first_migration"


class Killed(BaseException):
    """What no program handles."""


class Server:
    """One database of MariaDB: DDL takes effect at once. `statements_left` is when its client is killed."""

    def __init__(self, *tables: str) -> None:
        self.tables = set(tables)
        self.holder: object = None
        self.busy = 0  # attempts that another process holds the lock
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
        assert self.holder is client, "without the lock"
        if statement.startswith("SHOW FULL TABLES"):
            return [(name, "BASE TABLE") for name in sorted(self.tables)]
        if statement.startswith("SET FOREIGN_KEY_CHECKS = 0"):
            self.checks_foreign_keys = False
        elif found := re.fullmatch(r"CREATE TABLE (\w+) .*", statement):
            assert found[1] not in self.tables, f"Table '{found[1]}' already exists"
            self.tables.add(found[1])
        elif found := re.fullmatch(r"DROP TABLE (.*)", statement):
            dropped = {name.strip("`") for name in found[1].split(", ")}
            assert dropped <= self.tables
            assert dropped == {MARK} or not self.checks_foreign_keys
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


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def migrate(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The script, whose connections lead to the server."""
    schema, pymysql = ModuleType("schema"), ModuleType("pymysql")
    schema.connect = lambda url: Client(server)  # type: ignore[attr-defined]
    schema.connection_of = lambda snippets: f"of {snippets}"  # type: ignore[attr-defined]
    pymysql.cursors = ModuleType("cursors")  # type: ignore[attr-defined]
    pymysql.cursors.Cursor = object
    for name, module in (("schema", schema), ("pymysql", pymysql)):
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("migrate", SCRIPT)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    yield script


def run(migrate: Any, server: Server, tables: tuple[str, ...] = ("networks", "ports")) -> bool:
    """A migration that creates the tables. Returns whether it was the first one."""
    with migrate.marked("mysql+pymysql://…") as first:
        for name in tables:
            server.run(server.holder, f"CREATE TABLE {name} (id INTEGER)")
    return bool(first)


def test_complete_migration_leaves_no_mark(migrate: Any, server: Server) -> None:
    assert run(migrate, server)
    assert server.tables == {"networks", "ports"}


@pytest.mark.parametrize("killed_after", range(7))
def test_killed_first_migration_starts_again_at_any_point(migrate: Any, server: Server, killed_after: int) -> None:
    server.statements_left = killed_after
    try:
        run(migrate, server)
    except Killed:
        server.statements_left = -1
        assert run(migrate, server)
    assert server.tables == {"networks", "ports"}


def test_kill_during_the_second_attempt(migrate: Any, server: Server) -> None:
    for killed_after in (4, 3, 4, 4):
        server.statements_left = killed_after
        with pytest.raises(Killed):
            run(migrate, server)
    server.statements_left = -1
    assert run(migrate, server)
    assert server.tables == {"networks", "ports"}


def test_tables_of_a_user_are_never_dropped(migrate: Any, server: Server) -> None:
    server.tables = {"alembic_version", "networks"}
    assert not run(migrate, server, ("ports",))
    assert server.tables == {"alembic_version", "networks", "ports"}
    server.statements_left = 2  # lock, tables; the migration itself is killed
    with pytest.raises(Killed):
        run(migrate, server, ("routers",))
    server.statements_left = -1
    assert not run(migrate, server, ("routers",))
    assert server.tables == {"alembic_version", "networks", "ports", "routers"}


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
    if code == "0":
        migrate.main("/etc/neutron/neutron.conf.d", "neutron-db-manage", code)
    else:
        with pytest.raises(SystemExit, match=code):
            migrate.main("/etc/neutron/neutron.conf.d", "neutron-db-manage", code)
    assert server.tables == tables


def test_missing_command_is_named(migrate: Any) -> None:
    with pytest.raises(SystemExit, match="neutron-db-manage: not found"):
        migrate.main("/etc/neutron/neutron.conf.d", "neutron-db-manage")


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
        assert f"/opt/stackwright/migrate.py, /etc/{service}/{service}.conf.d, {service}-" in job.read_text()
