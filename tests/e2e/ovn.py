"""Shared by tests of a cloud with OVN."""

from __future__ import annotations

import re
from dataclasses import dataclass

from full import FullCloud

DATABASES = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}
TABLES = ("Logical_Switch", "Logical_Router", "Logical_Switch_Port")
LOCAL = "ovn-nbctl --db=unix:/tmp/nb.sock --timeout=10"


@dataclass(frozen=True)
class Member:
    """What a member of a database reports about its cluster.

    leader   its id, self or unknown
    servers  host → ids of the members with that address
    """

    role: str
    leader: str
    servers: dict[str, list[str]]


def content(cloud: FullCloud, number: int = 0) -> dict[str, set[str]]:
    """Table of the northbound database → names of its networks, routers or ports, as this member has them."""
    return {table: _list(cloud, number, "name", table) for table in TABLES}


def external_ids(cloud: FullCloud) -> set[str]:
    """Those of the northbound database itself."""
    return _list(cloud, 0, "external_ids", "NB_Global")


def member(cloud: FullCloud, number: int, database: str) -> Member:
    """Raises AssertionError if the member does not run."""
    control = f"ovs-appctl -t /tmp/{database}.ctl cluster/status {DATABASES[database]}"
    text = run(cloud, number, database, control)
    servers: dict[str, list[str]] = {}
    for id_, host in re.findall(r"^ +(\w+) \(\w+ at ssl:([\w-]+)\.", text, re.MULTILINE):
        servers.setdefault(host, []).append(id_)
    role, leader = (re.search(rf"^{name}: (\S+)", text, re.MULTILINE) for name in ("Role", "Leader"))
    assert role and leader, text
    return Member(role[1], leader[1], servers)


def accepts_writes(cloud: FullCloud, number: int) -> bool:
    """Whether the northbound database stores a change, requested of this member."""
    change = f"{LOCAL} --no-leader-only set NB_Global . external_ids:stackwright-test=1"
    return "stored" in run(cloud, number, "nb", f"{change} && echo stored || true")


def run(cloud: FullCloud, number: int, container: str, script: str) -> str:
    words = ("exec", "-n", cloud.namespace, f"ovn-ovsdb-{number}", "-c", container, "--", "sh", "-c", script)
    return cloud.kubectl(*words)


def _list(cloud: FullCloud, number: int, column: str, table: str) -> set[str]:
    return set(run(cloud, number, "nb", f"{LOCAL} --no-leader-only --bare --columns={column} list {table}").split())
