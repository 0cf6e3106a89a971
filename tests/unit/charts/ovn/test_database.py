"""The start of a member of OVN's databases: with data, as the first, joining others, and after it lost its volume."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ovn/bin"
PLACES = {"/etc/ovn": "etc", "/var/lib/ovn": "data", "/dev/termination-log": "why", "/tmp": "tmp"}
# Stand-ins. A server without a database runs until it ends; the other one is the end of a test.
SERVER = """#!/bin/bash
echo "server $(cat "$WORLD/tmp/nb.json")" >>"$WORLD/asked"
echo "options $*" >>"$WORLD/asked"
[[ ! -e $WORLD/broken ]] || exit 1
if [[ $(cat "$WORLD/tmp/nb.json") == *'"databases": {}'* ]]; then exec /bin/sleep 30; fi
/bin/sleep "$(cat "$WORLD/serves" 2>/dev/null || echo 0)"
"""
TOOL = """#!/bin/bash
case $1 in
    schema-version) cat "$WORLD/version"; exit ;;
    compare-versions) [[ $3 == "<" && $2 == 7.1.0 && $4 == 7.9.0 ]]; exit ;;
    db-sid) echo abcd0000-0000-4000-8000-000000000000; exit ;;
    show-log) cat "$WORLD/log"; exit ;;
esac
echo "tool $*" >>"$WORLD/asked"
[[ ! -e $WORLD/full ]] || exit 1
for word; do [[ $word != *.db.new || ! -e $word ]] || { echo "$word: File exists"; exit 1; }; done
for word; do [[ $word != *.db.new ]] || echo new >"$word"; done
"""
CLIENT = """#!/bin/bash
case "$*" in
    *" get-schema-version unix:"*) echo 7.1.0; exit ;;
    *" convert unix:"*) echo "client convert" >>"$WORLD/asked"; exit ;;
esac
[[ $* =~ ssl:ovn-ovsdb-([0-9])[.]ns[.]svc:6641 ]] && response=$WORLD/peer${BASH_REMATCH[1]}
[[ -s $response ]] && cat "$response"
"""
CONTROL = """#!/bin/bash
[[ $3 != cluster/status ]] || { cat "$WORLD/status"; exit; }
echo "control ${*:3}" >>"$WORLD/asked"
"""
PAUSE = """#!/bin/bash
exec /bin/sleep 0.1
"""
TLS = "--private-key=etc/tls/tls.key --certificate=etc/tls/tls.crt --ca-cert=etc/tls/ca.crt"
MEMBER = '[{"rows":[{"cid":["uuid","235e1d6e-0000-4000-8000-000000000000"]}]}]'
JOINING = '[{"rows":[{"cid":["set",[]]}]}]'
EMPTY = '[{"rows":[]}]'


@pytest.fixture
def world(tmp_path: Path) -> Path:
    programs = {
        "ovsdb-server": SERVER,
        "ovsdb-tool": TOOL,
        "ovsdb-client": CLIENT,
        "ovs-appctl": CONTROL,
        "sleep": PAUSE,
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name in ("etc", "data", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def script(world: Path, name: str) -> str:
    text = (BIN / name).read_text().replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
    return re.sub("|".join(PLACES), lambda found: f"{world}/{PLACES[found[0]]}", text)


def start(
    world: Path,
    ordinal: int = 0,
    peers: Mapping[int, str] | None = None,
    size: int = 3,
    limit: float = 20,
    stop: bool = False,
) -> int:
    """The exit code; `peers` are the responses of other members, by ordinal; `stop` sends SIGTERM after a second."""
    for number, response in (peers or {}).items():
        (world / f"peer{number}").write_text(response)
    env = {"PATH": f"{world}:{os.environ['PATH']}", "WORLD": str(world), "POD_NAME": f"ovn-ovsdb-{ordinal}"}
    env |= {"CLUSTER_SIZE": str(size), "CLUSTER_DOMAIN": "ns.svc", "CLIENT_PORT": "6641", "RAFT_PORT": "6643"}
    env |= {"INACTIVITY_PROBE": "60000", "ELECTION_TIMER": "4000"}
    words = ["bash", "-c", script(world, "database.sh"), "database.sh", "nb"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env=env, stdout=quiet, stderr=quiet, process_group=0) as started:
        try:
            if stop:
                with suppress(subprocess.TimeoutExpired):
                    started.wait(1)
                started.terminate()
            return started.wait(limit)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


def asked(world: Path, program: str) -> list[str]:
    lines = (world / "asked").read_text().splitlines()
    return [line.removeprefix(f"{program} ").replace(f"{world}/", "") for line in lines if line.startswith(program)]


def databases(world: Path) -> list[object]:
    """The databases of each server that was started."""
    return [list(json.loads(each)["databases"]) for each in asked(world, "server")]


def test_member_with_data_starts_with_it(world: Path) -> None:
    (world / "data/ovnnb_db.db").write_text("data")
    assert start(world) == 0
    assert asked(world, "tool") == []
    assert databases(world) == [["data/ovnnb_db.db"]]
    assert (world / "data/ovnnb_db.db").read_text() == "data"


def test_server_accepts_only_connections_with_certificates(world: Path) -> None:
    (world / "data/ovnnb_db.db").write_text("data")
    assert start(world) == 0
    (options,) = asked(world, "options")
    assert TLS in options
    (conf,) = (json.loads(each) for each in asked(world, "server"))
    assert sorted(each.partition(":")[0] for each in conf["remotes"]) == ["pssl", "punix"]
    assert conf["remotes"]["pssl:6641:[::]"] == {"inactivity-probe": 60000}


def test_rest_of_an_interrupted_start_is_replaced(world: Path) -> None:
    (world / "data/ovnnb_db.db.new").write_text("half")
    assert start(world, size=1) == 0
    assert (world / "data/ovnnb_db.db").read_text() == "new\n"


def test_server_that_does_not_start_is_named(world: Path) -> None:
    (world / "broken").touch()
    assert start(world) == 1
    assert (world / "why").read_text() == "ovsdb-server does not start"


@pytest.mark.parametrize(
    ("role", "version", "expected"),
    [
        ("leader", "7.1.0", ["control cluster/kick OVN_Northbound bbbb"]),
        ("leader", "7.9.0", ["client convert", "control cluster/kick OVN_Northbound bbbb"]),
        ("leader", "7.0.0", ["control cluster/kick OVN_Northbound bbbb"]),
        ("follower", "7.9.0", []),
    ],
)
def test_leader_converts_the_schema_and_removes_lost_members(
    world: Path, role: str, version: str, expected: list[str]
) -> None:
    (world / "data/ovnnb_db.db").write_text("data")
    (world / "serves").write_text("1")
    (world / "version").write_text(f"{version}\n")
    (world / "status").write_text(
        f"Status: cluster member\nRole: {role}\nServers:\n"
        "    aaaa (aaaa at ssl:ovn-ovsdb-0.ns.svc:6643) (self)\n"
        "    bbbb (bbbb at ssl:ovn-ovsdb-1.ns.svc:6643) last msg 90000 ms ago\n"
        "    cccc (cccc at ssl:ovn-ovsdb-1.ns.svc:6643) last msg 5 ms ago\n"
    )
    assert start(world) == 0
    lines = (world / "asked").read_text().splitlines()
    assert sorted({each for each in lines if each.startswith(("client", "control"))}) == expected


def test_waiting_member_ends_at_once(world: Path) -> None:
    assert start(world, stop=True) == 0
    assert asked(world, "tool") == []


def test_only_member_creates_the_cluster(world: Path) -> None:
    assert start(world, size=1) == 0
    (made,) = asked(world, "tool")
    assert made.startswith("--election-timer=4000 create-cluster data/ovnnb_db.db.new ")
    assert made.endswith(" ssl:ovn-ovsdb-0.ns.svc:6643")
    assert databases(world)[-1] == ["data/ovnnb_db.db"]


def test_first_of_three_empty_members_creates_the_cluster(world: Path) -> None:
    """Until then, it responds to the others without a database."""
    assert start(world, 0, {1: EMPTY, 2: JOINING}) == 0
    assert "create-cluster" in asked(world, "tool")[0]
    assert databases(world) == [[], ["data/ovnnb_db.db"]]


@pytest.mark.parametrize(
    ("ordinal", "peers"),
    [(0, {}), (0, {1: EMPTY}), (1, {0: EMPTY, 2: EMPTY}), (2, {0: EMPTY}), (0, {1: "", 2: EMPTY})],
)
def test_no_cluster_is_created_while_a_member_with_data_may_exist(
    world: Path, ordinal: int, peers: Mapping[int, str]
) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        start(world, ordinal, {0: "", 1: "", 2: "", **peers}, limit=3)
    assert asked(world, "tool") == []
    assert list((world / "data").iterdir()) == []


@pytest.mark.parametrize("ordinal", [0, 1])
def test_empty_member_joins_a_cluster(world: Path, ordinal: int) -> None:
    """Also the first one, which lost its volume; another member may be unavailable."""
    assert start(world, ordinal, {1 - ordinal: MEMBER}) == 0
    others = " ".join(f"ssl:ovn-ovsdb-{each}.ns.svc:6643" for each in (0, 1, 2) if each != ordinal)
    me = f"ssl:ovn-ovsdb-{ordinal}.ns.svc:6643"
    assert asked(world, "tool") == [f"join-cluster data/ovnnb_db.db.new OVN_Northbound {me} {others}"]


@pytest.mark.parametrize(
    ("log", "kept"),
    [
        ("record 0:\n remote_addresses: ...\n", True),
        (' prev_servers: 1111("ssl:a"), abcd("ssl:b")\n', True),
        (' prev_servers: 1111("ssl:a")\nrecord 9:\n servers: 1111("ssl:a"), abcd("ssl:b")\n', True),
        (' prev_servers: 1111("ssl:a"), 2222("ssl:b")\n', False),
    ],
    ids=["joins", "member", "added later", "data, but no member"],
)
def test_member_that_was_killed_while_it_joined_joins_again(world: Path, log: str, kept: bool) -> None:
    """ovsdb-server refuses a file with data whose members it is not one of. Such a member joins with the same id."""
    (world / "data/ovnnb_db.db").write_text("data")
    (world / "data/ovnnb_db.db.join").write_text("join")
    (world / "log").write_text(log)
    assert start(world, 1) == 0
    assert (world / "data/ovnnb_db.db").read_text() == ("data" if kept else "join")


def test_a_first_attempt_is_kept_until_the_member_has_joined(world: Path) -> None:
    assert start(world, 1, {0: MEMBER}) == 0
    assert (world / "data/ovnnb_db.db.join").read_text() == "new\n"
    (world / "serves").write_text("1")
    (world / "status").write_text("Status: cluster member\nRole: follower\n")
    (world / "log").write_text(' servers: abcd("ssl:b")\n')
    assert start(world, 1) == 0
    assert not (world / "data/ovnnb_db.db.join").exists()


@pytest.mark.parametrize(("response", "expected"), [(MEMBER, "join-cluster"), (EMPTY, "create-cluster"), ("", "")])
def test_only_member_asks_those_that_exist_already(world: Path, response: str, expected: str) -> None:
    """While a cluster grows to three, its first member still has the size one; if it lost its volume then, it joins."""
    (world / "getent").write_text("#!/bin/bash\n[[ $2 == ovn-ovsdb-1.* ]]\n")
    (world / "getent").chmod(0o755)
    if expected:
        assert start(world, 0, {1: response}, size=1) == 0
        assert expected in asked(world, "tool")[0]
    else:
        with pytest.raises(subprocess.TimeoutExpired):
            start(world, 0, {1: response}, size=1, limit=2)
        assert asked(world, "tool") == []


def test_failure_is_named(world: Path) -> None:
    (world / "full").touch()
    assert start(world, size=1) == 1
    assert (world / "why").read_text() == f"cannot make the database {world}/data/ovnnb_db.db"


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ([("aaaa", 0, "(self)"), ("bbbb", 1, "last msg 5 ms ago"), ("cccc", 2, "")], ""),
        ([("aaaa", 0, "(self)"), ("bbbb", 1, "last msg 9000 ms ago"), ("cccc", 1, "last msg 5 ms ago")], "bbbb"),
        ([("cccc", 1, "last msg 5 ms ago"), ("aaaa", 0, "(self)"), ("bbbb", 1, "last msg 9000 ms ago")], "bbbb"),
        ([("bbbb", 1, ""), ("cccc", 1, "last msg 5 ms ago"), ("aaaa", 0, "(self)")], "bbbb"),
        ([("bbbb", 1, ""), ("cccc", 1, ""), ("aaaa", 0, "(self)")], ""),
        ([("bbbb", 0, "last msg 5 ms ago"), ("aaaa", 0, "(self)")], "bbbb"),
    ],
    ids=["none", "older", "older last", "silent", "unknown which", "own"],
)
def test_former_members_of_an_address_are_lost(world: Path, servers: list[tuple[str, int, str]], expected: str) -> None:
    lines = [f"    {id} ({id} at ssl:ovn-ovsdb-{number}.ns.svc:6643) {more}" for id, number, more in servers]
    body = re.search(r"^lost\(\) \{.*?^\}", script(world, "database.sh"), re.MULTILINE | re.DOTALL)
    assert body
    status = "Address: ssl:ovn-ovsdb-0.ns.svc:6643\nRole: leader\nServers:\n" + "\n".join(lines) + "\n"
    done = subprocess.run(["bash", "-c", f"{body[0]}; lost"], input=status, capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected.split()
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ("Status: cluster member\nLeader: self", ""),
        ("Status: cluster member\nLeader: 23ab", ""),
        ("Status: joining cluster\nLeader: unknown", "joining"),
        ("Status: disconnected from the cluster (election timeout)\nLeader: unknown", "no majority"),
        ("Status: cluster member\nLeader: unknown", "no majority"),
        (None, "OVN_Northbound does not run, or waits for the other members"),
    ],
)
def test_readiness_names_the_cause(world: Path, status: str | None, cause: str) -> None:
    (world / "ovs-appctl").write_text(f"#!/bin/bash\necho '{status}'\n" if status else "#!/bin/bash\nexit 1\n")
    (world / "ovs-appctl").chmod(0o755)
    env = {"PATH": f"{world}:{os.environ['PATH']}", "WORLD": str(world)}
    words = ["bash", "-c", script(world, "ready.sh"), "ready.sh", "nb"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=20)
    assert done.returncode == (1 if cause else 0)
    assert cause in done.stdout
