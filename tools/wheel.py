"""A hook of hatchling: add the charts to the wheel, each with all its files.

A wheel has no links. Of all links to the same folder, hatchling copies only the first one in each folder that it adds,
and each chart has a link to the library chart: so each chart is added on its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Charts(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for chart in Path(self.root, "charts").iterdir():
            build_data["force_include"][str(chart)] = f"stackwright/_assets/charts/{chart.name}"
