"""Tempest's smoke tests of networks over IPv6."""

from __future__ import annotations

from pathlib import Path

from full import FullCloud
from tempest.course import run


def test_tempests_tests_of_ipv6_pass_and_leave_no_resources(storage_cloud: FullCloud, tmp_path: Path) -> None:
    run(storage_cloud, tmp_path, r"tempest\.api\.network\..*IpV6.*", least=5)
