"""Placement: the resources of hypervisors and their allocations."""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, Chart, Listener, Public, Service
from stackwright.services.placement.kind import Placement
from stackwright.services.placement.values import PORT, chart_values, contracts
from stackwright.services.tested import REMOVED, UP, levels, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="placement",
    name="placement",
    group="openstack",
    resource=Placement,
    charts=(
        Chart(
            "placement",
            chart_values,
            images=lambda settings: {"placement_api": "placement", "placement_db_sync": "placement"},
            options=("placement", "placement_api_uwsgi", "logging"),
            listens=(Listener("api", (PORT,), name="placement", sources=("horizon", "keystoneclient", INGRESS)),),
            calls=("mariadb", "memcached", "keystone"),
        ),
    ),
    contracts=contracts,
    conf_files={"placement": "placement"},
    requires=lambda settings: ("database", "identity"),
    presets=("core", "compute"),
    public=(Public("placement"),),
    logging=True,
    section="placement",
    programs={"": "api"},
    tested={
        "features.services": service("placement", UP, REMOVED),
        "features.logging.placement.level": levels(UP),
    },
)
