"""Memcached: the cache that all services share; its content may be lost at any time."""

from __future__ import annotations

from stackwright.services.declaration import Chart, Listener, Service
from stackwright.services.memcached.kind import Memcached
from stackwright.services.memcached.values import PORT, chart_values
from stackwright.services.tested import UP, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="memcached",
    name="memcached",
    group="infra",
    resource=Memcached,
    charts=(
        Chart(
            "memcached",
            chart_values,
            images=lambda settings: {"memcached": "memcached"},
            listens=(Listener("server", (PORT,), name="memcached"),),
        ),
    ),
    presets=("core", "compute"),
    section="memcached",
    tested={"features.services": service("memcached", UP)},
)
