"""Which server of a Galera cluster begins after all have ended: the decision, and the position of a volume."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

BIN = Path(__file__).parents[2] / "charts/mariadb/bin"
UUIDS = ("5f0c2a9e-0000-11ef-8000-000000000001", "5f0c2a9e-0000-11ef-8000-000000000002")
NONE = "00000000-0000-0000-0000-000000000000"
Server = tuple[int, str, str, str]
"""Ordinal, phase, uuid, seqno; -2 is no data, -1 not known."""


def elect(size: int, *servers: Server) -> str:
    lines = "".join(" ".join(map(str, server)) + "\n" for server in servers)
    script = f". {BIN}/decide.sh; elect {size}"
    return subprocess.run(
        ["bash", "-c", script], input=lines, capture_output=True, text=True, check=True
    ).stdout.strip()


def waiting(ordinal: int, seqno: int | str, uuid: str = UUIDS[0]) -> Server:
    return ordinal, "waiting", uuid if seqno not in (-1, -2) else NONE, str(seqno)


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


SEQNO = st.one_of(st.sampled_from([-2, -1, 0, 1]), st.integers(0, 2**40))
SERVERS = st.lists(
    st.tuples(st.sampled_from(["waiting", "waiting", "waiting", "starting", "split"]), st.sampled_from(UUIDS), SEQNO),
    min_size=1,
    max_size=5,
)


@settings(max_examples=settings.default.max_examples * 4, deadline=None)
@given(SERVERS, st.integers(1, 5), st.randoms(use_true_random=False))
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
    if len(here) < size or -1 in positions or len(histories) > 1:
        assert verdict.startswith("wait ")
        return
    chosen = int(verdict.removeprefix("begin "))
    assert (-max(positions), chosen) == min((-int(seqno), ordinal) for ordinal, _, _, seqno in here)


def position(volume: Path, log: str = "") -> str:
    """What start.sh finds on a volume; `log` is what mariadbd says when it is asked to recover its position."""
    text = (BIN / "start.sh").read_text().replace("\nmain\n", "\nfind_position\n")
    for name in ("lib", "decide"):
        text = text.replace(f". /opt/stackwright/{name}.sh", (BIN / f"{name}.sh").read_text())
    text = text.replace("/var/lib/mysql", str(volume))
    mariadbd = f"mariadbd() {{ echo '{log}'; }}\n"
    env = {"PATH": "/usr/bin:/bin", "POD_NAME": "server-0", "CLUSTER_SIZE": "3", "STATE_PORT": "1", "POD_IP": "::1"}
    done = subprocess.run(["bash", "-c", mariadbd + text], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def data(volume: Path, uuid: str, seqno: int, *files: str) -> Path:
    (volume / "data").mkdir()
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


def test_a_database_without_a_history_is_empty_only_if_it_was_made_here(tmp_path: Path) -> None:
    data(tmp_path, NONE, -1)
    assert position(tmp_path) == f"{NONE} -1", "a transfer that was cut off"
    (tmp_path / "data/stackwright-fresh").touch()
    assert position(tmp_path) == f"{NONE} -2"
