"""Tempest's plug-in for Heat: its API, and templates, hooks, outputs and updates of stacks without machines."""

from __future__ import annotations

from pathlib import Path

from full import FullCloud
from tempest.course import ALL, run
from tempest.stacks import SELECTED


def test_the_plug_in_for_heat_passes_and_leaves_no_resources(heat_cloud: FullCloud, tmp_path: Path) -> None:
    run(heat_cloud, tmp_path, SELECTED, least=80, tags=ALL)
