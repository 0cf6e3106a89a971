"""Tempest's smoke scenarios."""

from __future__ import annotations

from pathlib import Path

from full import FullCloud
from tempest.course import run


def test_tempests_scenarios_pass_and_leave_no_resources(storage_cloud: FullCloud, tmp_path: Path) -> None:
    run(storage_cloud, tmp_path, r"tempest\.scenario\..*", least=2)
