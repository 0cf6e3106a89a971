"""Shared by tests of a cloud with OVN."""

from __future__ import annotations

import re
from dataclasses import dataclass

from full import FullCloud

DATABASES = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}


@dataclass(frozen=True)
class Member:
    """What one member of a database reports.

    servers  host → ids of the members with that address
    """

    role: str
    leader: str
    servers: dict[str, list[str]]


def switches(cloud: FullCloud, member: int = 0) -> set[str]:
    """Names of the networks in a member of the northbound database."""
    script = "ovn-nbctl --db=unix:/tmp/nb.sock --no-leader-only --bare --columns=name list Logical_Switch"
    return set(_run(cloud, member, "nb", script).split())


def member(cloud: FullCloud, number: int, database: str) -> Member:
    """Raises AssertionError if the member does not run."""
    text = _run(cloud, number, database, f"ovs-appctl -t /tmp/{database}.ctl cluster/status {DATABASES[database]}")
    servers: dict[str, list[str]] = {}
    for id_, host in re.findall(r"^ +(\w+) \(\w+ at ssl:([\w-]+)\.", text, re.MULTILINE):
        servers.setdefault(host, []).append(id_)
    role, leader = (re.search(rf"^{name}: (\S+)", text, re.MULTILINE) for name in ("Role", "Leader"))
    assert role and leader, text
    return Member(role[1], leader[1], servers)


def _run(cloud: FullCloud, number: int, container: str, script: str) -> str:
    return cloud.kubectl(
        "exec", "-n", cloud.namespace, f"ovn-ovsdb-{number}", "-c", container, "--", "sh", "-c", script
    )
