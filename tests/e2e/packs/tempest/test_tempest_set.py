"""OpenStack's own integration tests: Tempest's smoke set without slow tests."""

from __future__ import annotations

from pathlib import Path

from full import FullCloud
from tempest.course import run


def test_the_smoke_set_of_tempest_passes_and_leaves_no_resources(storage_cloud: FullCloud, tmp_path: Path) -> None:
    run(storage_cloud, tmp_path, least=50)
