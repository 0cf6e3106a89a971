"""Shared by tests of a cloud with OVN."""

from __future__ import annotations

from full import FullCloud


def switches(cloud: FullCloud, member: int = 0) -> set[str]:
    """Names of the networks in a member of the northbound database."""
    script = "ovn-nbctl --db=unix:/tmp/nb.sock --no-leader-only --bare --columns=name list Logical_Switch"
    words = ("exec", "-n", cloud.namespace, f"ovn-ovsdb-{member}", "-c", "nb", "--", "sh", "-c", script)
    return set(cloud.kubectl(*words).split())
