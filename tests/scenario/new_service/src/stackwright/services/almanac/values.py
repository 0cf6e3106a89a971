"""Values and contracts of Almanac."""

from __future__ import annotations

from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Certificate, Contract, Keys, Secret
from stackwright.services.etcd.values import tooz_url
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging

PORT = 9600
WEEK = 7 * 24 * 3600.0
LOCKS = "/etc/almanac/etcd"  # mount path of the client certificate for etcd


def endpoint(context: Context) -> Endpoint:
    internal = context.url("almanac-api", PORT)
    return Endpoint("calendar", internal, context.public_url("almanac", internal), "Calendar service")


def chart_values(context: Context) -> Values:
    settings = context.settings
    return {
        "endpoints": {
            "cluster_domain_suffix": context.spec.cluster_domain,
            "almanac": {"port": {"api": {"default": PORT}}},
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "api"),
        "pod": {"replicas": {"api": 1 if context.spec.size == "single" else 3}},
        "secrets": {
            "oslo_db": {"almanac": f"{context.name}-database"},
            "oslo_messaging": {"almanac": f"{context.name}-messaging"},
            "identity": {"almanac": f"{context.name}-keystone"},
            "sessions": {"almanac": f"{context.name}-sessions"},
            "keys": {"almanac": f"{context.name}-keys"},
            "tls": {"etcd": f"{context.name}-etcd"},
        },
        "conf": {
            "almanac": {
                **api_conf(context),
                "coordination": {"backend_url": tooz_url(context, LOCKS)},
                "calendar": {"weeks": settings.weeks, "style": settings.style, "keep_days": settings.cleanup.age},
            }
        },
    }


def contracts(context: Context) -> tuple[Contract, ...]:
    return (
        database(context.name),
        messaging(context.name, context.settings.messaging_instance),
        identity(context, endpoint(context)),
    )


def secrets(context: Context) -> tuple[Secret, ...]:
    return (Secret(f"{context.name}-sessions", generated=("session_key",)),)


def keys(context: Context) -> tuple[Keys, ...]:
    return (Keys(f"{context.name}-keys", every=WEEK),)


def certificates(context: Context) -> tuple[Certificate, ...]:
    return (Certificate(f"{context.name}-etcd", names=(context.name,)),)
