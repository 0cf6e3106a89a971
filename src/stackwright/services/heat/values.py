"""Values, Secrets and contracts of Heat."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Contract, Secret
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.cleanup import cleanup_values
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging, notifications
from stackwright.services.sizes import limits

PORT = 8004
CFN_PORT = 8000
API = "heat-api"
CFN = "heat-cfn"  # name of its Service, its entry in the catalog, its user and its public host
KEY_SECRET = "heat-encryption-key"  # noqa: S105 - the name of a Secret
# `owner` is for users of stacks, if trusts_delegated_roles names it; Heat gives `user` to the users that it creates.
ROLES = ("heat_stack_owner", "heat_stack_user")
STACK_ROWS = 50  # in the database, of a common stack
TRUSTEE = {"domain": "heat", "username": "heat_domain_admin"}


@dataclass(frozen=True)
class Sizing:
    """Pods, and processes in each. A process of an engine works on many resources at once."""

    api: int
    cfn: int
    engine: int
    api_workers: int
    engine_workers: int


# With fewer than two workers, an API would not answer probes while it waits for an engine.
SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 2, 1),
    "tiny": Sizing(3, 3, 3, 2, 2),
    "small": Sizing(3, 3, 3, 2, 4),
    "medium": Sizing(6, 6, 15, 4, 4),
}


def endpoint(context: Context) -> Endpoint:
    path = "/v1/%(project_id)s"
    internal = context.url(API, PORT, path)
    return Endpoint("orchestration", internal, context.public_url("heat", internal, path), "Orchestration service")


def cfn_endpoint(context: Context) -> Endpoint:
    internal = context.url(CFN, CFN_PORT, "/v1")
    public = context.public_url(CFN, internal, "/v1")
    return Endpoint("cloudformation", internal, public, "Orchestration service, in the form of CloudFormation")


def _heat_conf(context: Context) -> Values:
    spec = context.spec
    cfn = cfn_endpoint(context).public
    conf = api_conf(context)
    conf["DEFAULT"] |= {
        "region_name_for_services": spec.region,
        "num_engine_workers": SIZES[spec.size].engine_workers,
        # Addresses for virtual machines, which can only reach public ones.
        "heat_metadata_server_url": cfn,
        "heat_waitcondition_server_url": f"{cfn}/waitcondition",
        "server_keystone_endpoint_type": "public",
    }
    return conf


def chart_values(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    size = SIZES[spec.size]
    replicas = {"api": size.api, "cfn": size.cfn, "engine": size.engine}
    uwsgi = {"uwsgi": {"processes": size.api_workers}}
    return {
        "endpoints": {
            "cluster_domain_suffix": spec.cluster_domain,
            "orchestration": {"port": {"api": {"default": PORT}}},
            "cloudformation": {"port": {"api": {"default": CFN_PORT}}},
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, *replicas, "job"),
        "pod": {
            "replicas": replicas,
            "resources": limits(api=size.api_workers, cfn=size.api_workers, engine=size.engine_workers),
        },
        "secrets": {
            "oslo_db": {"heat": f"{context.name}-database"},
            "oslo_messaging": {"heat": f"{context.name}-messaging", "notifications": f"{context.name}-notifications"},
            "identity": {"heat": f"{context.name}-keystone", "cfn": f"{CFN}-keystone"},
            "encryption_key": KEY_SECRET,
        },
        "cron": {
            "db_purge": {**cleanup_values(settings.cleanup), "batch": max(1, settings.cleanup.batch // STACK_ROWS)}
        },
        "conf": {
            "heat": _heat_conf(context),
            "heat_api_uwsgi": uwsgi,
            "heat_cfn_uwsgi": uwsgi,
            "logging": {"logger_heat": {"level": spec.log_level}},
        },
    }


def secrets(context: Context) -> tuple[Secret, ...]:
    """The key of credentials in the database. AES takes its 32 characters as they are."""
    conf = {"encryption.conf": "[DEFAULT]\nauth_encryption_key = {key}\n"}
    return (Secret(KEY_SECRET, generated=("key",), templates=conf, owner=(MariaDB.KIND, "mariadb")),)


def contracts(context: Context) -> tuple[Contract, ...]:
    known = identity(context, endpoint(context))
    named = {"serviceName": CFN, "username": CFN, "secretName": f"{CFN}-keystone"}
    cfn = identity(context, cfn_endpoint(context))
    return (
        database(context.name),
        messaging(context.name, context.settings.messaging_instance),
        notifications(context.name),
        replace(known, spec={**known.spec, "additionalRoles": list(ROLES), "trustee": dict(TRUSTEE)}),
        # It only validates tokens and signatures, for which `service` is enough.
        replace(cfn, name=CFN, spec={**cfn.spec, **named, "roles": ["service"]}),
    )
