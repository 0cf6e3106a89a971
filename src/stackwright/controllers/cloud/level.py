"""Levels of overrides: the fields of a manifest in which a user sets values of charts. Pure.

A service object contains the level of its values as text (`spec.overrides[].source`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """The scope of a level, in rising priority."""

    ALL_CHARTS = 0
    ANY_CHART = 1  # each named chart of the cloud
    GROUP = 2  # all charts of the group `name`
    GROUP_CHART = 3  # each named chart of that group
    SERVICES = 4
    NODES = 5  # nodes with the label `name`
    FIELD = 6  # the field `name` of another kind, which sets values by its own rules


_SOURCES = {
    Rank.ALL_CHARTS: "spec.common.charts.values",
    Rank.ANY_CHART: "spec.common.charts.releases",
    Rank.GROUP: "spec.common.{}.values",
    Rank.GROUP_CHART: "spec.common.{}.releases",
    Rank.SERVICES: "spec.services",
    Rank.NODES: "spec.nodes.{}",
}


@dataclass(frozen=True)
class Level:
    rank: Rank
    name: str = ""

    def __str__(self) -> str:
        return _SOURCES.get(self.rank, "{}").format(self.name)

    @classmethod
    def parse(cls, source: str) -> Level:
        """The level of a text; any text that is no level of an OpenStackDeployment names a field of another kind."""
        for rank, text in _SOURCES.items():
            before, named, after = text.partition("{}")
            level = cls(rank, source.removeprefix(before).removesuffix(after) if named else "")
            if str(level) == source:
                return level
        return cls(Rank.FIELD, source)

    @property
    def is_shared(self) -> bool:
        """Whether the same values apply to several charts."""
        return self.rank in (Rank.ALL_CHARTS, Rank.GROUP)

    def path(self, service: str, chart: str) -> str:
        """The path of a chart's values in the manifest; for a level of nodes, without the DaemonSet."""
        match self.rank:
            case Rank.ANY_CHART | Rank.GROUP_CHART:
                return f"{self}.{chart}.values"
            case Rank.SERVICES:
                return f"{self}.{service}.{chart}.values"
            case Rank.NODES:
                return f"{self}.services.{service}.{chart}"
            case _:
                return str(self)

    def value_path(self, service: str, chart: str, value: str) -> str:
        """The path in the manifest of one value of a chart."""
        return str(self) if self.rank is Rank.FIELD else f"{self.path(service, chart)}.{value}"
