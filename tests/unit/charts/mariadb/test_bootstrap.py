"""Which server of a Galera cluster starts first after all have ended, lost transfers, and the content of a volume."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.paths import ROOT

BIN = ROOT / "charts/mariadb/bin"
UUIDS = ("5f0c2a9e-0000-11ef-8000-000000000001", "5f0c2a9e-0000-11ef-8000-000000000002")
NONE = "00000000-0000-0000-0000-000000000000"
Server = tuple[int, str, str, str]
"""Ordinal, phase, uuid, seqno; -2 is no data, -1 not known, -3 half of the first data."""


def elect(size: int | str, *servers: Server) -> str:
    lines = "".join(" ".join(map(str, server)) + "\n" for server in servers)
    script = f". {BIN}/decide.sh; elect '{size}'"
    return subprocess.run(
        ["bash", "-c", script], input=lines, capture_output=True, text=True, check=True
    ).stdout.strip()


def transfer_lost(senders: str, peers: str) -> bool:
    lines = "".join(f"{line} {UUIDS[0]} 5\n" for line in peers.splitlines())
    script = f". {BIN}/decide.sh; transfer_lost '{senders}'"
    return subprocess.run(["bash", "-c", script], input=lines, text=True).returncode == 0


def waiting(ordinal: int, seqno: int | str, uuid: str = UUIDS[0]) -> Server:
    return ordinal, "waiting", uuid if seqno not in (-1, -2, -3) else NONE, str(seqno)


def test_the_newest_begins_and_the_lowest_ordinal_among_equals() -> None:
    assert elect(3, waiting(0, 9), waiting(1, 10), waiting(2, 10)) == "begin 1"
    assert elect(3, waiting(2, -2), waiting(0, -2), waiting(1, -2)) == "begin 0"
    assert elect(3, waiting(0, -2), waiting(1, 0), waiting(2, -2)) == "begin 1"


@pytest.mark.parametrize("others", [(5, 6), (-2, -2), (-2, 7)])
def test_an_unknown_position_blocks_with_a_message(others: tuple[int, int]) -> None:
    said = elect(3, waiting(0, others[0]), waiting(1, -1), waiting(2, others[1]))
    assert said.startswith("wait the position of server 1 is unknown")
    assert "delete the volume" in said


def test_an_unknown_position_of_the_only_server_blocks_too() -> None:
    assert elect(1, waiting(0, -1)).startswith("wait the position of server 0 is unknown")
    assert elect(1, waiting(0, "")).startswith("wait the position of server 0")
    assert elect(1, (0, "waiting", NONE, "5")).startswith("wait the position of server 0")


@pytest.mark.parametrize("others", [(5, -2), (0, -3), (-2, 5)])
def test_an_aborted_first_transfer_does_not_prevent_a_server_with_data_from_starting_first(
    others: tuple[int, int],
) -> None:
    wanted = "begin 2" if others[0] == -2 else "begin 0"
    assert elect(3, waiting(0, others[0]), waiting(1, -3), waiting(2, others[1])) == wanted


@pytest.mark.parametrize("other", [-2, -3])
def test_an_aborted_first_transfer_shows_that_data_existed(other: int) -> None:
    """The servers that had it have lost their volumes: an empty database would look as if all was well."""
    said = elect(2, waiting(0, other), waiting(1, -3))
    assert said.startswith("wait no server has data, but the first state transfer to server")
    assert "restore a backup" in said


@pytest.mark.parametrize("size", ["", "?", "abc", "3x", "-1", "0", "08"])
def test_without_the_number_of_servers_none_starts_first(size: str) -> None:
    assert elect(size, waiting(0, 5), waiting(1, 5), waiting(2, 5)) == "wait nobody knows how many servers there are"


@pytest.mark.parametrize(
    ("peers", "lost"),
    [
        ("0 waiting", True),
        ("0 split", True),
        ("0 waiting\n2 waiting", True),
        ("0 waiting\n2 starting", True),
        ("0 waiting\n2 primary", False),
        ("0 starting", False),
        ("0 primary", False),
        ("2 waiting", False),
        ("", False),
    ],
)
def test_a_transfer_is_lost_when_its_sender_ended_without_a_primary(peers: str, lost: bool) -> None:
    """Server 0 was primary when the transfer began; a server 2 may be receiving as well."""
    assert transfer_lost("0", peers) == lost


def test_a_transfer_is_lost_when_all_have_ended_that_may_send_it() -> None:
    assert not transfer_lost("0 2", "0 waiting\n2 starting")
    assert not transfer_lost("0 2", "0 waiting")
    assert transfer_lost("0 2", "0 waiting\n2 split")
    assert not transfer_lost("1", "10 waiting")
    assert not transfer_lost("", "0 waiting")


SEQNO = st.one_of(st.sampled_from([-3, -2, -1, 0, 1]), st.integers(0, 2**40))
SERVERS = st.lists(
    st.tuples(st.sampled_from(["waiting", "waiting", "waiting", "starting", "split"]), st.sampled_from(UUIDS), SEQNO),
    min_size=1,
    max_size=5,
)


@settings(max_examples=settings.default.max_examples * 4, deadline=None)
@given(SERVERS, st.one_of(st.integers(1, 5), st.sampled_from(["", "?", "3x"])), st.randoms(use_true_random=False))
def test_only_a_server_that_is_known_to_be_the_newest_begins(servers, size, random) -> None:  # type: ignore[no-untyped-def]
    listed: list[Server] = [
        (ordinal, phase, uuid if seqno >= 0 else NONE, str(seqno))
        for ordinal, (phase, uuid, seqno) in enumerate(servers)
    ]
    verdict = elect(size, *listed)
    assert elect(size, *random.sample(listed, len(listed))) == verdict or verdict.startswith("wait"), "in any order"
    here = [server for server in listed if server[1] == "waiting"]
    positions = [int(server[3]) for server in here]
    histories = {server[2] for server in here if int(server[3]) >= 0}
    lost = -3 in positions and max(positions) < 0
    if isinstance(size, str) or len(here) < size or -1 in positions or len(histories) > 1 or lost:
        assert verdict.startswith("wait ")
        return
    chosen = int(verdict.removeprefix("begin "))
    assert (-max(positions), chosen) == min((-int(seqno), ordinal) for ordinal, _, _, seqno in here)
    assert positions[[server[0] for server in here].index(chosen)] != -3


def position(volume: Path, log: str = "") -> str:
    """The position that start.sh finds on a volume; `log` is mariadbd's output for the recovery of its position."""
    return ran(volume, f"mariadbd() {{ echo '{log}'; }}", "find_position", size=3)


def ran(volume: Path, world: str, what: str, *arguments: str, size: int, script: str = "start.sh") -> str:
    """The output of a script of the pod server-0 that calls `what` instead of main.

    world   functions that replace programs
    script  with ? at its end it may fail
    """
    text = (BIN / script.removesuffix("?")).read_text().replace("\nmain\n", f"\n{what}\n")
    for name in ("lib", "decide"):
        text = text.replace(f". /opt/stackwright/{name}.sh", (BIN / f"{name}.sh").read_text())
    (volume / "run").mkdir(exist_ok=True)
    text = text.replace("/var/lib/mysql", str(volume)).replace("/run/mysqld", str(volume / "run"))
    env = {"PATH": "/usr/bin:/bin", "POD_NAME": "server-0", "CLUSTER_SIZE": str(size), "CLUSTER_DOMAIN": "x"}
    env |= {"STATE_PORT": "1", "POD_IP": "::1"}
    bash = ["bash", "-c", f"{world}\n{text}", "script", *arguments]
    check = not script.endswith("?")
    return subprocess.run(bash, env=env, capture_output=True, text=True, check=check).stdout.strip()


def data(volume: Path, uuid: str, seqno: int, *files: str) -> Path:
    (volume / "data").mkdir(exist_ok=True)
    (volume / "data/grastate.dat").write_text(f"version: 2.1\nuuid:    {uuid}\nseqno:   {seqno}\n")
    for name in files:
        (volume / "data" / name).touch()
    return volume


def test_the_position_of_a_volume(tmp_path: Path) -> None:
    assert position(tmp_path) == f"{NONE} -2"
    (tmp_path / "data").mkdir()
    assert position(tmp_path) == f"{NONE} -2", "a join that had not begun"
    (tmp_path / "data").rmdir()
    assert position(data(tmp_path, UUIDS[0], 41)) == f"{UUIDS[0]} 41"


def test_after_a_crash_the_log_knows(tmp_path: Path) -> None:
    data(tmp_path, UUIDS[0], -1)
    assert position(tmp_path, f"WSREP: Recovered position: {UUIDS[0]}:77") == f"{UUIDS[0]} 77"
    assert position(tmp_path, "InnoDB: Database page corruption") == f"{NONE} -1"
    assert position(tmp_path, f"WSREP: Recovered position: {NONE}:-1") == f"{NONE} -1"


def test_a_state_transfer_that_was_cut_off_has_no_position(tmp_path: Path) -> None:
    data(tmp_path, UUIDS[0], 41, "sst_in_progress")
    assert position(tmp_path, f"WSREP: Recovered position: {UUIDS[0]}:77") == f"{NONE} -1"


def test_half_of_the_first_data_of_a_volume_is_known_as_such(tmp_path: Path) -> None:
    started(tmp_path, "join", f"{NONE} -2")
    data(tmp_path, UUIDS[0], 41, "sst_in_progress")
    assert position(tmp_path) == f"{NONE} -3"
    (tmp_path / "data/sst_in_progress").unlink()
    assert position(tmp_path) == f"{UUIDS[0]} 41", "it is whole"
    (tmp_path / "data/grastate.dat").write_text(f"uuid:    {NONE}\nseqno:   -1\n")
    assert position(tmp_path) == f"{NONE} -3"
    started(tmp_path, "join", f"{NONE} -3")
    assert position(tmp_path) == f"{NONE} -3", "cut off once more"


@pytest.mark.parametrize("status", ["joined", "synced", "donor"])
def test_half_of_later_data_may_be_of_the_newest(tmp_path: Path, status: str) -> None:
    """The server has been whole, and so may have had what no other has."""
    started(tmp_path, "join", f"{NONE} -2")
    data(tmp_path, UUIDS[0], 41, "sst_in_progress")
    for other in ("connected", "joiner", "initializing", "initialized", "disconnecting"):
        ran(tmp_path, "", "", "--status", other, size=1, script="view.sh")
        assert position(tmp_path) == f"{NONE} -3"
    ran(tmp_path, "", "", "--status", status, size=1, script="view.sh")
    assert position(tmp_path) == f"{NONE} -1"


@pytest.mark.parametrize(
    ("how", "known"), [("join", f"{UUIDS[0]} 41"), ("join", f"{NONE} -1"), ("begin", f"{NONE} -2")]
)
def test_a_volume_with_data_is_known_as_such_before_a_transfer_overwrites_it(
    tmp_path: Path, how: str, known: str
) -> None:
    started(tmp_path, "join", f"{NONE} -2")
    data(tmp_path, UUIDS[0], 41, "sst_in_progress")
    started(tmp_path, how, known)
    assert position(tmp_path) == f"{NONE} -1"


def test_a_server_that_is_ready_has_been_whole(tmp_path: Path) -> None:
    started(tmp_path, "join", f"{NONE} -2")
    data(tmp_path, UUIDS[0], 41, "sst_in_progress")
    ran(tmp_path, "timeout() { echo 'wsrep_ready	ON'; }", "", size=1, script="ready.sh")
    assert position(tmp_path) == f"{NONE} -1"


SAYS = """timeout() {{
    case "${{*: -1}}" in
        *wsrep_ready*) printf 'wsrep_ready\\t{ready}\\n' ;;
        *wsrep_cluster_status*) printf 'wsrep_cluster_status\\t{status}\\n' ;;
        'SELECT 1') {alive} ;;
    esac
}}"""


def says(ready: str = "OFF", status: str = "", alive: str = "false") -> str:
    """In the place of MariaDB's client."""
    return SAYS.format(ready=ready, status=status, alive=alive)


def test_a_server_that_was_ready_must_respond_from_then_on(tmp_path: Path) -> None:
    """Before that it may receive data for hours, and to end it would only lose time."""
    data(tmp_path, UUIDS[0], 0, "stackwright-fresh")

    def lives(world: str) -> bool:
        return ran(tmp_path, f"trap 'echo $?' EXIT\n{world}", "", size=1, script="alive.sh?") == "0"

    def ready(world: str) -> bool:
        return ran(tmp_path, f"trap 'echo $?' EXIT\n{world}", "", size=1, script="ready.sh?") == "0"

    assert not ready(says("OFF"))
    assert lives(says())
    assert (tmp_path / "data/stackwright-fresh").exists()
    assert ready(says("ON"))
    assert not (tmp_path / "data/stackwright-fresh").exists()
    assert not lives(says())
    assert lives(says(alive="true"))


@pytest.mark.parametrize(
    ("phase", "world", "told"),
    [
        ("waiting", says("ON", "Primary"), "waiting"),
        ("running", says(), "starting"),
        ("running", says("OFF", "non-Primary"), "split"),
        ("running", says("ON", "Primary"), "primary"),
        ("", says("OFF", "Primary"), "starting"),
    ],
)
def test_a_server_reports_its_state_to_its_peers(tmp_path: Path, phase: str, world: str, told: str) -> None:
    """One without a majority is none to join, and holds up no election as one that starts does."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/phase").write_text(f"{phase}\n")
    (tmp_path / "run/position").write_text(f"{UUIDS[0]} 7\n")
    assert ran(tmp_path, world, "", size=3, script="state.sh") == f"0 {told} {UUIDS[0]} 7"


def started(volume: Path, how: str, known: str) -> None:
    """mariadbd has been started this way on a volume at this position, and has ended."""
    (volume / "run").mkdir(exist_ok=True)
    (volume / "run/position").write_text(f"{known}\n")
    world = "mariadbd() { :; }; watch_split() { :; }"
    ran(volume, world, f"{world}; run {how} 10.0.0.2 server-1,", size=1)


def test_a_database_without_a_history_is_empty_only_if_it_was_created_here(tmp_path: Path) -> None:
    data(tmp_path, NONE, -1)
    assert position(tmp_path) == f"{NONE} -1", "a transfer that was cut off"
    (tmp_path / "data/stackwright-fresh").touch()
    assert position(tmp_path) == f"{NONE} -2"


def view(volume: Path, *ordinals: int) -> None:
    """MariaDB reports the current members to server 0."""
    members = ",".join(f"{UUIDS[0]}/server-{ordinal}/10.0.0.{ordinal + 1}:3306" for ordinal in ordinals)
    told = ("--status", "synced", "--uuid", UUIDS[0], "--primary", "yes", "--index", "0", "--members", members)
    ran(volume, "", "", *told, size=1, script="view.sh")


def decided(volume: Path, *peers: str, size: int = 1) -> str:
    """The start decision of server 0 with data at 100; peers are lines of servers 1, 2, …; "" is an absent one."""
    known = "\n".join(f"server-{i}.x) echo 10.0.0.{i} $2 ;;" for i, line in enumerate(peers, 1) if line)
    lines = "\n".join(f"TCP:10.0.0.{i}:*) echo '{i} {line}' ;;" for i, line in enumerate(peers, 1))
    world = f"""
getent() {{ echo "$2" >>{volume}/asked; case $2 in {known} esac; }}
socat() {{ case $3 in {lines} esac; }}"""
    (volume / "run").mkdir(exist_ok=True)
    (volume / "run/position").write_text(f"{UUIDS[0]} 100\n")
    return ran(volume, world, "decide", size=size)


def asked(volume: Path) -> list[str]:
    return (volume / "asked").read_text().split() if (volume / "asked").exists() else []


def test_a_server_without_configured_peers_joins_its_former_peers(tmp_path: Path) -> None:
    """MariaDB grows from one to three: server 0 is changed last, and ends before that."""
    view(tmp_path, 0, 2)
    view(tmp_path, 0, 1, 2)
    view(tmp_path, 0)
    newer = f"primary {UUIDS[0]} 205"
    assert decided(tmp_path, newer, newer) == "join 10.0.0.1,10.0.0.2 server-2,server-1,"


@pytest.mark.parametrize("there", [("", ""), ("", f"waiting {UUIDS[0]} 205"), (f"starting {UUIDS[0]} 205", "")])
def test_a_server_waits_for_all_that_it_has_had(tmp_path: Path, there: tuple[str, str]) -> None:
    view(tmp_path, 0, 2)
    assert decided(tmp_path, *there) == ""


def test_of_all_that_it_has_had_the_newest_begins(tmp_path: Path) -> None:
    view(tmp_path, 0, 1, 2)
    newer, older = f"waiting {UUIDS[0]} 205", f"waiting {UUIDS[0]} 99"
    assert decided(tmp_path, newer, older) == ""
    assert decided(tmp_path, older, older) == "begin"


def test_the_only_server_with_data_starts_first_after_an_aborted_first_transfer(tmp_path: Path) -> None:
    """MariaDB grows from one to three: server 1 is a member already when server 0, which sends it its data, ends."""
    view(tmp_path, 0, 1)
    half, empty = f"waiting {NONE} -3", f"waiting {NONE} -2"
    assert decided(tmp_path, "") == "", "it may be whole"
    assert decided(tmp_path, half) == "begin"
    assert decided(tmp_path, half, "", size=3) == ""
    assert decided(tmp_path, half, empty, size=3) == "begin"


DAMAGED = ["", "abc", "3x", "08", "3 4", "3\r", "-5", "0", "100", "9" * 20, "x[$(touch pwned)]"]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("text", DAMAGED)
def test_with_a_damaged_file_a_server_joins_and_does_not_begin(tmp_path: Path, text: str, size: int) -> None:
    """One that never had another has no such file, so this one had."""
    (tmp_path / "size").write_text(text, newline="")
    assert decided(tmp_path, size=size) == ""
    assert (tmp_path / "run/said").read_text() == (
        f"waiting: nobody knows how many servers there are; {tmp_path}/size is damaged: write into it how many servers"
        " there are\n"
    )
    assert {"server-1.x", "server-2.x"} <= set(asked(tmp_path))
    newer = f"primary {UUIDS[0]} 205"
    assert decided(tmp_path, "", newer, size=size) == "join 10.0.0.2 server-2,"
    view(tmp_path, 0, 2)
    assert (tmp_path / "size").read_bytes() == text.encode(), "of three, one may be away"
    (tmp_path / "size").write_text("1\n")
    assert decided(tmp_path) == "begin"


def test_a_file_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "size").mkdir()
    assert decided(tmp_path, size=3) == ""


def test_a_server_with_a_copied_volume_reports_its_wait(tmp_path: Path) -> None:
    """A snapshot of a cluster of three is restored as one of a single server."""
    view(tmp_path, 0, 1, 2)
    assert decided(tmp_path) == ""
    said = (tmp_path / "run/said").read_text()
    assert said.startswith("waiting: 1 of 3 servers are here; ")
    assert f"this pod knows of 1, and {tmp_path}/size of 3: delete that file only if this volume is a copy" in said
    assert decided(tmp_path, size=3) == ""
    assert "size" not in (tmp_path / "run/said").read_text(), "the pods of the others are yet to come"


def test_a_server_without_former_peers_starts_without_asking(tmp_path: Path) -> None:
    assert decided(tmp_path) == "begin"
    view(tmp_path, 0)
    assert decided(tmp_path) == "begin"
    assert asked(tmp_path) == []


def test_the_larger_of_configured_and_recorded_peers_counts(tmp_path: Path) -> None:
    view(tmp_path, 0)
    assert decided(tmp_path, size=3) == ""
    assert set(asked(tmp_path)) == {"server-1.x", "server-2.x"}


def test_a_server_without_a_majority_does_not_start_over_while_others_may_have_it(tmp_path: Path) -> None:
    view(tmp_path, 0, 1, 2)
    world = """
turns=0
sleep() { ((turns++ < 5)); }
getent() { :; }
kill() { echo gave up; }
say() { :; }"""
    what = "state_phase() { echo split; }; say() { :; }; watch_split 1"
    assert ran(tmp_path, world, what, size=1) == ""


def test_a_view_that_names_no_server_of_ours_changes_nothing(tmp_path: Path) -> None:
    view(tmp_path, 0, 1, 2)
    ran(tmp_path, "", "", "--status", "disconnected", "--members", "x/other-9/y,x/server-x/y", size=1, script="view.sh")
    assert (tmp_path / "size").read_text() == "3\n"
