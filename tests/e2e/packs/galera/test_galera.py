"""Three real servers, and the choice of the server that starts the cluster: never one with old or partial data.

Needs root and the image of MariaDB, and neither Kubernetes nor a cloud. Each test leaves a cluster of three.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from galera import PASSWORD, Galera, Server
from harness import eventually, run

from support.images.dead_peers import patched

NOTICED = 60.0  # seconds; about 30 are expected
PATIENCE = 15.0  # seconds, many times the start of a server


@pytest.fixture(scope="module")
def galera(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Galera]:
    """A cluster whose servers all have the table `t`."""
    made = Galera(tmp_path_factory.mktemp("galera"))
    try:
        made.start()
        whole(made)
        made.servers[0].sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
        yield made
    finally:
        print(made.said())
        made.close()


def whole(galera: Galera, *present: int) -> None:
    """Wait until all three servers serve, form one cluster, and have these rows."""

    def check() -> bool:
        for server in galera.servers:
            assert server.ready(), server.said()[-1000:]
            assert server.sql("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'").split()[1:] == ["3"]
            assert {str(number) for number in present} <= set(rows(server))
        return True

    eventually(check, limit=240)


def insert(server: Server, number: int) -> None:
    """Insert a row, as soon as the server accepts it."""

    def check() -> bool:
        server.sql(f"INSERT IGNORE INTO d.t VALUES ({number})")
        return str(number) in rows(server)

    eventually(check, limit=60)


def rows(server: Server) -> list[str]:
    return server.sql("SELECT id FROM d.t ORDER BY id").split()


def all_wait_for(galera: Galera, *unknown: int) -> None:
    """All servers report that the position of these is unknown, and none starts or joins."""

    def named(server: Server) -> list[str]:
        found = re.match(r"the position of server ([0-9 ]+) is unknown", server.waits())
        return sorted(found[1].split()) if found else []

    wanted = [str(ordinal) for ordinal in unknown]
    eventually(lambda: all(named(server) == wanted for server in galera.servers), limit=90)
    assert "delete the volume and the pod of server" in galera.servers[0].waits(), "what to do is said"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert not any(server.primary() for server in galera.servers)
        time.sleep(0.5)
    assert not [server.name for server in galera.servers if server.ran()]


CLIENT = """\
import sys, time
import pymysql
server = pymysql.connect(host=sys.argv[1], user="root", password=sys.argv[2])
cursor = server.cursor()
cursor.execute("SELECT 1")
print("connected", flush=True)
if sys.argv[3] == "later":
    sys.stdin.readline()
start = time.monotonic()
try:
    cursor.execute("SELECT SLEEP(600)")
except pymysql.MySQLError as error:
    print(f"{time.monotonic() - start:.0f} s: {error}")
"""


def client(near: Server, far: Server, when: str, libraries: Path | None = None) -> subprocess.Popen[str]:
    """A client next to `near`, connected to `far`; it queries at once or `later`."""
    env = {**os.environ, **({"PYTHONPATH": str(libraries)} if libraries else {})}
    words = ("ip", "netns", "exec", near.net, sys.executable, "-c", CLIENT, far.address, PASSWORD, when)
    made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert made.stdout is not None and made.stdout.readline() == "connected\n"
    return made


def test_clients_notice_that_a_server_lost_its_network(galera: Galera, tmp_path: Path) -> None:
    """The library as changed in the images, beside its original, whose clients would wait for fifteen minutes."""
    far, near, _ = galera.servers
    patched(tmp_path, "pymysql/connections.py")
    waiting, asking = (client(near, far, when, tmp_path) for when in ("before", "later"))
    theirs = client(near, far, "later")
    try:
        far.cut()
        for each in (asking, theirs):
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        for each in (waiting, asking):
            out, _ = each.communicate(timeout=NOTICED)
            print(out)
            assert "Lost connection" in out
        assert theirs.poll() is None
    finally:
        for each in (waiting, asking, theirs):
            each.kill()
        far.mend()
    whole(galera)


def one_is_behind(galera: Galera, number: int) -> None:
    """Simulate a power failure after the other two servers have received a row that server 2 lacks."""
    behind = galera.servers[2]
    behind.cut()
    eventually(lambda: not behind.ready() and not behind.primary(), limit=60)
    insert(galera.servers[0], number)
    eventually(lambda: str(number) in rows(galera.servers[1]), limit=30)
    galera.kill()
    behind.mend()


def test_an_isolated_server_serves_no_client_and_recovers(galera: Galera) -> None:
    alone = galera.servers[0]
    alone.cut()
    eventually(lambda: not alone.ready() and not alone.primary(), limit=60)
    insert(galera.servers[1], 1)
    alone.mend()
    whole(galera, 1)


def test_after_a_power_cut_the_newest_data_begins(galera: Galera) -> None:
    one_is_behind(galera, 2)
    galera.start()
    whole(galera, 1, 2)
    assert galera.servers[2].ran() == ["join"], "it had less than the others"


def test_servers_with_an_unknown_position_are_not_outvoted_by_an_older_one(galera: Galera) -> None:
    """Their logs are unreadable, so nothing proves that they have more data, as is the case."""
    one_is_behind(galera, 3)
    logs = [server.data / "ib_logfile0" for server in galera.servers[:2]]
    for log in logs:
        kept(log).write_bytes(log.read_bytes())
        log.write_bytes(b"x" * 2**20)  # in place, so that the owner does not change
    galera.start()
    all_wait_for(galera, 0, 1)
    galera.kill()
    for log in logs:
        log.write_bytes(kept(log).read_bytes())
    galera.start()
    whole(galera, 1, 2, 3)
    assert galera.servers[2].ran() == ["join"]


def cut_off(galera: Galera, half: Server, *ended: Server) -> None:
    """Simulate a power failure of these servers while they send their data to this one, which was stopped before."""
    half.start()
    mark = half.data / "sst_in_progress"
    eventually(mark.exists, limit=90, pause=0.005)
    for server in ended:
        server.kill()
    assert mark.exists(), "it was still under way"


def test_an_aborted_state_transfer_starts_no_cluster(galera: Galera) -> None:
    half = galera.servers[2]
    half.kill()
    (half.data / "grastate.dat").unlink()  # forces a complete state transfer
    insert(galera.servers[0], 4)
    cut_off(galera, half, *galera.servers)
    galera.start()
    all_wait_for(galera, 2)
    half.kill()  # follows the message
    half.empty()
    half.start()
    whole(galera, 1, 2, 3, 4)


def test_an_aborted_first_state_transfer_prevents_no_server_from_starting_first(galera: Galera) -> None:
    """One server becomes three, and is killed while it sends its data to the second."""
    first, half, last = galera.servers
    galera.kill()
    for server in (half, last):
        server.empty()
    (first.folder / "volume/size").unlink()
    first.start(size=1)
    eventually(first.ready, limit=60)
    assert first.ran() == ["begin"]
    insert(first, 6)
    cut_off(galera, half, first)
    first.start(size=1)
    eventually(first.ready, limit=150)
    assert first.ran() == ["begin"]
    assert (first.folder / "volume/size").read_text() == "2\n"
    last.start()
    whole(galera, 1, 2, 3, 4, 6)
    assert not list(galera.folder.glob("*/volume/first-transfer"))


def test_a_server_without_configured_peers_waits_for_its_former_peers(galera: Galera) -> None:
    """While one server becomes three, the pod of server 0 is changed last, so its size is outdated."""
    first, *others = galera.servers
    first.kill()
    insert(others[0], 5)
    galera.kill()
    first.start(size=1)
    eventually(lambda: first.waits().startswith("1 of 3 servers are here"), limit=60)
    for server in others:
        server.start()
    whole(galera, 5)
    assert first.ran() == ["join"], "it had less than the others"


def kept(log: Path) -> Path:
    return log.parents[2] / log.name


ADAPTER = """\
import asyncio, sys
from stackwright.adapters.mariadb.accounts import MariaDbDatabase
from stackwright.core.plan.accounts import EnsureDatabaseAccount
where = ("namespace", "name")
action = EnsureDatabaseAccount(
    host="10.0.0.1", admin_secret=where, database="nova_api", username="nova", grants=("ALL PRIVILEGES",), secret=where,
    additional=tuple(sys.argv[3:]),
)
admin = {"username": "root", "password": sys.argv[2]}
print(asyncio.run(getattr(MariaDbDatabase(), sys.argv[1])(action, admin, "of-nova")) or "")
"""


def test_an_account_has_its_own_database_and_its_losses_are_detected(galera: Galera) -> None:
    """Tests the adapter on a real server with grants on patterns, on other databases and by a role."""
    server = galera.servers[0]

    def adapter(call: str, *additional: str) -> str:
        done = run("ip", "netns", "exec", server.net, sys.executable, "-c", ADAPTER, call, PASSWORD, *additional)
        assert done.code == 0, done.out
        return done.out.strip()

    server.sql("CREATE DATABASE novaXapi; CREATE DATABASE reports; CREATE USER nova@'%' IDENTIFIED BY 'older'")
    server.sql("GRANT ALL PRIVILEGES ON `nova_api`.* TO nova@'%'; GRANT SELECT ON reports.* TO nova@'%'")
    server.sql("GRANT SELECT, PROCESS ON *.* TO nova@'%' WITH GRANT OPTION MAX_QUERIES_PER_HOUR 0")
    server.sql("CREATE ROLE reader WITH ADMIN root@'%'; GRANT SELECT ON *.* TO reader; GRANT reader TO nova@'%'")
    assert "`nova_api`.*" in server.sql("SHOW GRANTS FOR nova@'%'")
    assert adapter("missing") == "user nova"
    adapter("account")
    grants = server.sql("SHOW GRANTS FOR nova@'%'")
    assert "GRANT USAGE ON *.* TO" in grants and "OPTION" not in grants and "reader" not in grants
    assert "ALL PRIVILEGES ON *.* TO" in server.sql("SHOW GRANTS FOR root@'%'")
    assert r"ALL PRIVILEGES ON `nova\_api`.* TO" in grants
    assert "`nova_api`.*" not in grants and "`reports`" not in grants
    assert adapter("missing") == ""
    adapter("account")
    assert server.sql("SHOW GRANTS FOR nova@'%'") == grants
    adapter("account", "nova_cell0")
    assert r"`nova\_cell0`.* TO" in server.sql("SHOW GRANTS FOR nova@'%'")
    adapter("account")
    assert server.sql("SHOW GRANTS FOR nova@'%'") == grants, "rights on a database that is no longer named"
    assert "nova_cell0" in server.sql("SHOW DATABASES"), "what is in it stays"
    server.sql("DROP DATABASE nova_api")
    assert adapter("missing").startswith("database nova_api")
    server.sql("DROP USER nova@'%'")
    assert adapter("missing") == "user nova"
