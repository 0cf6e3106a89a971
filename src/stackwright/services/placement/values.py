"""Values and contracts of Placement."""

from __future__ import annotations

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Contract
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.oslo import api_conf
from stackwright.services.sizes import Sizing, limits

PORT = 8778
API = "placement-api"


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1),
    "tiny": Sizing(3, 1),
    "small": Sizing(4, 2),
    "medium": Sizing(6, 4),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT)
    return Endpoint("placement", internal, context.public_url("placement", internal), "Placement")


def chart_values(context: Context) -> Values:
    spec = context.spec
    size = SIZES[spec.size]
    conf = api_conf(context)
    del conf["oslo_messaging_notifications"]  # Placement does not send notifications
    return {
        "endpoints": {"cluster_domain_suffix": spec.cluster_domain, "placement": {"port": {"api": {"default": PORT}}}},
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "api", "job"),
        "pod": {"replicas": {"api": size.pods}, "resources": limits(api=size.workers)},
        "secrets": {
            "oslo_db": {"placement": f"{context.name}-database"},
            "identity": {"placement": f"{context.name}-keystone"},
        },
        "conf": {
            "placement": conf,
            "placement_api_uwsgi": {"uwsgi": {"processes": size.workers}},
            "logging": {"logger_placement": {"level": spec.log_level}},
        },
    }


def contracts(context: Context) -> tuple[Contract, ...]:
    return (database(context.name, section="placement_database"), identity(context, endpoint(context)))
