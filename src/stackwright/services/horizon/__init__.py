"""Horizon: the dashboard. It sends requests to the other services inside the cluster; browsers use its public name.

The service catalog determines a user's panels, so these values do not list the cloud's other services.
"""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, Chart, Features, Listener, Public, Secret, Service
from stackwright.services.horizon.features import HorizonFeatures, HorizonSettings
from stackwright.services.horizon.kind import Horizon
from stackwright.services.horizon.values import CONTAINER_PORT, NAME, SECRET_KEY, chart_values
from stackwright.services.tested import REMOVED, RENDERED_ONLY, UP, levels, service

_BROWSER = "test_horizon_login_in_a_real_headless_browser"


__all__ = ["SERVICE"]

SERVICE = Service(
    service="dashboard",
    name=NAME,
    group="openstack",
    resource=Horizon,
    charts=(
        Chart(
            "horizon",
            chart_values,
            images=lambda settings: {"horizon": "horizon"},
            options=("horizon_uwsgi",),
            # The APIs of its panels list it as one of their sources.
            listens=(Listener("horizon", (CONTAINER_PORT,), sources=(INGRESS,)),),
            calls=("memcached", "keystone"),
        ),
    ),
    secrets=lambda context: (Secret(SECRET_KEY, generated=("secret_key",)),),
    settings=HorizonSettings,
    features=Features(HorizonFeatures, "The dashboard."),
    requires=lambda settings: ("memcached", "identity"),
    presets=("core", "compute"),
    public=(Public(NAME),),
    logging=True,
    section="horizon",
    programs={"": "horizon"},
    tested={
        "features.services": service("dashboard", _BROWSER, REMOVED),
        "features.logging.horizon.level": levels(UP),
        "features.horizon.default_theme": {"default": _BROWSER, "material": RENDERED_ONLY},
    },
)
