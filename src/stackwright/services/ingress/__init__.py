"""The ingress: serves the Ingress objects of the other services with TLS, on the control-plane nodes.

It owns the certificate that they all use: the user's own, or one from the cloud's CA for all names below the public
domain.
"""

from __future__ import annotations

from stackwright.services.declaration import Chart, Features, Service
from stackwright.services.ingress.features import IngressSettings, Ssl, given_endpoints
from stackwright.services.ingress.kind import Ingress
from stackwright.services.ingress.values import certificates, chart_values
from stackwright.services.tested import SMALL_CLOUD, UP, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="ingress",
    name="ingress",
    group="infra",
    resource=Ingress,
    charts=(Chart("ingress", chart_values, images=lambda settings: {"ingress": "ingress"}),),
    certificates=certificates,
    settings=IngressSettings,
    features=Features(Ssl, "TLS of public endpoints.", "ssl", lambda ssl, cloud: given_endpoints(ssl)),
    presets=("core", "compute"),
    tested={"features.services": service("ingress", UP, SMALL_CLOUD)},
)
