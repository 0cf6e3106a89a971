"""Shared by tests of a cloud with OVN."""

from __future__ import annotations

import json

from full import FullCloud

from stackwright.local.steps.openstack import demo


def demo_address(cloud: FullCloud) -> str:
    """The floating IP of the virtual machine of `up`."""
    return str(json.loads(demo.marker(cloud.cluster).read_text())["address"])


def switches(cloud: FullCloud, member: int = 0) -> set[str]:
    """Names of the networks in a member of the northbound database."""
    script = "ovn-nbctl --db=unix:/tmp/nb.sock --no-leader-only --bare --columns=name list Logical_Switch"
    words = ("exec", "-n", cloud.namespace, f"ovn-ovsdb-{member}", "-c", "nb", "--", "sh", "-c", script)
    return set(cloud.kubectl(*words).split())
