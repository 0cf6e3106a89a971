"""Shared by tests of a cloud with OVN."""

from __future__ import annotations

from full import FullCloud

TABLES = ("Logical_Switch", "Logical_Router", "Logical_Switch_Port")


def content(cloud: FullCloud) -> dict[str, set[str]]:
    """Table of the northbound database → names of its networks, routers or ports."""
    return {table: _list(cloud, "name", table) for table in TABLES}


def external_ids(cloud: FullCloud) -> set[str]:
    """Those of the northbound database itself."""
    return _list(cloud, "external_ids", "NB_Global")


def _list(cloud: FullCloud, column: str, table: str) -> set[str]:
    script = f"ovn-nbctl --db=unix:/tmp/nb.sock --no-leader-only --bare --columns={column} list {table}"
    words = ("exec", "-n", cloud.namespace, "ovn-ovsdb-0", "-c", "nb", "--", "sh", "-c", script)
    return set(cloud.kubectl(*words).split())
