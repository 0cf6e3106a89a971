"""The start of a member of etcd: it never forms a cluster alone, and rejoins as a new member if its data is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/etcd/bin"
URL = "https://etcd-{}.etcd-discovery:2380"
# Stand-in for etcdctl: the cluster's members are in `members`, its calls in `asked`.
ETCDCTL = """#!/bin/bash
words=()
for word; do [[ $word == --cert=* || $word == --key=* || $word == --cacert=* ]] || words+=("$word"); done
[[ ${words[0]} == "--endpoints=$OTHERS" ]] || exit 1
echo "${words[*]}" >>"$WORLD/asked"
case "${words[*]:1}" in
    "member list") [[ ! -e $WORLD/minority ]] && cat "$WORLD/members" ;;
    "member remove "*) [[ ! -e $WORLD/refuses ]] ;;
    "member add "*)
        [[ ! -e $WORLD/killed ]] || exit 137
        printf 'Member added\\n\\nETCD_NAME="x"\\nETCD_INITIAL_CLUSTER="all-of-them"\\n' ;;
esac
"""
# Stand-in for socat: the state that a member reports.
SOCAT = """#!/bin/bash
[[ $* =~ TCP:etcd-([0-9])\\.etcd-discovery:1, ]] && cat "$WORLD/state-${BASH_REMATCH[1]}"
"""


class World:
    """A pod of three members, etcd-1, and what its peers answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in {"etcdctl": ETCDCTL, "socat": SOCAT, "state-1": "empty\n"}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "volume").mkdir()

    def text(self, name: str) -> str:
        text = (BIN / name).read_text().replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
        text = text.replace("/etc/etcd/tls", f"{self.folder}/tls")
        return text.replace("/var/lib/etcd", f"{self.folder}/volume").replace("/tmp/forming", f"{self.folder}/forming")

    def has(self, *names: str) -> None:
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()

    def run(self, script: str, **env: str) -> str:
        places = {"PATH": f"{self.folder}:{os.environ['PATH']}", "WORLD": str(self.folder), "POD_NAME": "etcd-1"}
        ports = {"CLUSTER_SIZE": "3", "CLUSTER_DOMAIN": "etcd-discovery", "PEER_PORT": "2380", "CLIENT_PORT": "2379"}
        ports |= {"STATE_PORT": "1", "OTHERS": ",".join(f"https://etcd-{n}.etcd-discovery:2379" for n in (0, 2))}
        words = ["bash", "-c", script]
        done = subprocess.run(words, env={**places, **ports, **env}, capture_output=True, text=True, timeout=20)
        return done.stdout.strip()

    def decides(self, *states: str, **env: str) -> str:
        """`states` of members 0 and 2; those without one do not answer."""
        for ordinal, state in zip((0, 2), states, strict=False):
            (self.folder / f"state-{ordinal}").write_text(f"{state}\n")
        start = self.text("start.sh").rstrip()
        assert start.endswith("\nmain")
        return self.run(f"{start.removesuffix('main')}decide", **env)

    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return [line.partition(" ")[2] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


WAL = "volume/data/member/wal/0.wal"
FORM = f"new etcd-0={URL.format(0)},etcd-1={URL.format(1)},etcd-2={URL.format(2)}"


@pytest.mark.parametrize("states", [(), ("empty",), ("member", "member")])
def test_a_member_with_data_continues_with_any_state_of_others(world: World, states: tuple[str, ...]) -> None:
    world.has(WAL)
    assert world.decides(*states) == "existing"
    assert world.asked() == []


@pytest.mark.parametrize("states", [("empty", "empty"), ("empty", "forming"), ("forming", "forming")])
def test_without_data_a_cluster_is_formed_when_all_are_here(world: World, states: tuple[str, ...]) -> None:
    assert world.decides(*states) == FORM
    assert (world.folder / "forming").exists()


@pytest.mark.parametrize("states", [(), ("empty",), ("forming",)])
def test_a_member_without_data_waits_for_unresponsive_ones(world: World, states: tuple[str, ...]) -> None:
    """They may have a cluster."""
    assert world.decides(*states) == ""
    assert not (world.folder / "forming").exists()


def test_the_only_member_forms_its_cluster(world: World) -> None:
    assert world.decides(CLUSTER_SIZE="1", POD_NAME="etcd-0") == f"new etcd-0={URL.format(0)}"


@pytest.mark.parametrize("states", [("member",), ("empty", "member"), ("member", "forming")])
def test_a_working_cluster_replaces_a_lost_member_by_a_new_one(world: World, states: tuple[str, ...]) -> None:
    lines = [f"a{n}, started, etcd-{n}, {URL.format(n)}, https://etcd-{n}:2379, false" for n in range(3)]
    (world.folder / "members").write_text("\n".join(lines) + "\n")
    assert world.decides(*states) == "existing all-of-them"
    add = f"member add etcd-1 --peer-urls={URL.format(1)}"
    assert world.asked() == ["member list", "member remove a1", add]


def test_an_unknown_member_removes_no_other(world: World) -> None:
    (world.folder / "members").write_text(f"a0, started, etcd-0, {URL.format(0)}, https://etcd-0:2379, false\n")
    assert world.decides("member", "empty") == "existing all-of-them"
    assert [asked.split()[1] for asked in world.asked()] == ["list", "add"]


@pytest.mark.parametrize("trouble", ["nobody answers", "refuses"])
def test_a_member_that_cannot_join_waits_and_forms_no_cluster(world: World, trouble: str) -> None:
    if trouble == "refuses":
        world.has("refuses")
        (world.folder / "members").write_text(f"a1, started, etcd-1, {URL.format(1)}, https://etcd-1:2379, false\n")
    assert world.decides("member", "empty") == ""
    assert not [asked for asked in world.asked() if "add" in asked]


ONE = f"a0, started, etcd-0, {URL.format(0)}, https://etcd-0:2379, false\n"
BOTH = f"existing etcd-0={URL.format(0)},etcd-1={URL.format(1)}"


def added_and_killed(world: World) -> None:
    """It grows from one member to more: the member was added, and its pod ended before it had started."""
    (world.folder / "members").write_text(ONE)
    world.has("killed")
    assert world.decides("member", "empty") == ""


@pytest.mark.parametrize("trouble", ["minority", "refuses"])
def test_a_member_killed_between_its_addition_and_its_start_starts_as_that_member(world: World, trouble: str) -> None:
    """Without it the others may have no majority, so they cannot list, remove or add a member."""
    added_and_killed(world)
    (world.folder / "members").write_text(f"{ONE}a1, unstarted, , {URL.format(1)}, , false\n")
    world.has(trouble)
    assert world.decides("member", "empty") == BOTH
    (world.folder / trouble).unlink()
    (world.folder / "killed").unlink()
    assert world.decides("member", "empty") == "existing all-of-them", "where there is a majority it joins anew"


@pytest.mark.parametrize("lost", ["volume", "data"])
def test_a_member_that_lost_its_data_after_voting_becomes_a_new_one(world: World, lost: str) -> None:
    added_and_killed(world)
    if lost == "data":
        world.has(WAL)
        assert world.decides("member", "empty") == "existing"
        (world.folder / WAL).unlink()
    else:
        shutil.rmtree(world.folder / "volume")
        (world.folder / "volume").mkdir()
    world.has("minority")
    assert world.decides("member", "empty") == ""


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ((), "empty"),
        (("forming",), "forming"),
        ((WAL,), "forming"),
        ((WAL, "volume/formed"), "member"),
        (("volume/formed",), "empty"),
    ],
)
def test_a_member_reports_its_state_to_its_peers(world: World, files: tuple[str, ...], state: str) -> None:
    """Data alone does not prove that the cluster has worked, and without data no server is a member."""
    world.has(*files)
    assert world.run(world.text("state.sh")) == state


# Stand-in for etcd, which runs until SIGTERM. The Secret is rewritten, and later gets another CA.
ETCD = """#!/bin/bash
echo started >>"$WORLD/etcd-ran"
trap 'echo ended >>"$WORLD/etcd-ran"; exit 0' TERM
cp "$WORLD/tls/ca.crt" "$WORLD/tls/new" && mv "$WORLD/tls/new" "$WORLD/tls/ca.crt"
for turn in {1..100}; do
    /bin/sleep 0.05
    ((turn != 20)) || { echo changed >>"$WORLD/etcd-ran"; echo other >"$WORLD/tls/ca.crt"; }
done
"""


def test_etcd_restarts_when_its_ca_changes(world: World) -> None:
    """It reads that at its start only: members would not trust each other's new certificates."""
    world.has(WAL, "tls/ca.crt", "volume/formed")
    for name, text in {"etcd": ETCD, "sleep": "#!/bin/bash\nexec /bin/sleep 0.1\n"}.items():
        (world.folder / name).write_text(text)
        (world.folder / name).chmod(0o755)
    start = world.text("start.sh").rstrip().removesuffix("main")
    world.run(f"{start}run existing", METRICS_PORT="1")
    assert (world.folder / "etcd-ran").read_text().split() == ["started", "changed", "ended"]
