"""Contracts of OpenStack services, and the values they have in common. Pure.

Each function builds one contract in its usual form. A contract that does not gate is requested at once, and its Secret
exists at once, so a service is installed while Keystone and the buses still start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.services.contracts import CephClient, DatabaseAccount, KeystoneService, MessagingAccount
from stackwright.api.services.kinds import Ceph, Keystone, MariaDB, RabbitMQ
from stackwright.services.cinder.features import Cleanup
from stackwright.services.declaration import INGRESS_CLASS, PUBLIC_TLS, Context, Contract, Values
from stackwright.services.memcached.values import servers

NOTIFICATION_BUS = "rabbitmq"


def notifications(name: str) -> Contract:
    """A user on the notification bus, which all services share."""
    return Contract(
        "Notifications",
        MessagingAccount.KIND,
        NOTIFICATION_BUS,
        RabbitMQ.KIND,
        {
            "instance": NOTIFICATION_BUS,
            "vhost": "notifications",
            "sharedVhost": True,
            "username": name,
            "secretName": f"{name}-notifications",
        },
        name=f"{name}-notifications",
        gates=False,
    )


def database(name: str, **more: Any) -> Contract:
    """A database and a user with the name of the service; `more` are fields of a DatabaseAccountSpec."""
    spec = {"instance": "mariadb", "database": name.replace("-", "_"), "username": name.replace("-", "_")}
    spec |= {"secretName": f"{name}-database", **more}
    return Contract("Database", DatabaseAccount.KIND, "mariadb", MariaDB.KIND, spec, name=name)


def messaging(name: str, instance: str, username: str = "") -> Contract:
    """A virtual host and a user on a bus. On the notification bus, the plain user name is already in use."""
    user = username or (f"{name}-rpc" if instance == NOTIFICATION_BUS else name)
    spec = {"instance": instance, "vhost": name, "username": user, "secretName": f"{name}-messaging"}
    return Contract("Messaging", MessagingAccount.KIND, instance, RabbitMQ.KIND, spec, name=name, gates=False)


CEPH_CONF = "/etc/ceph/ceph.conf"  # in every pod with a Ceph client
POOLS = {"images": "images", "volumes": "volumes", "backup": "backups", "vms": "vms"}  # role → requested name


def ceph(name: str, roles: Mapping[str, bool], options: Mapping[str, Mapping[str, str]]) -> Contract:
    """A client of Ceph. `roles` of its pools → whether it only reads them; for `options` see CephClientSpec."""
    spec = {
        "instance": "ceph",
        "client": name,
        "pools": [{"name": POOLS[role], "role": role, "readOnly": only} for role, only in roles.items()],
        "options": {section: dict(body) for section, body in options.items()},
        "secretName": ceph_secret(name),
    }
    return Contract("Storage", CephClient.KIND, "ceph", Ceph.KIND, spec, name=name)


def ceph_secret(name: str) -> str:
    return f"{name}-ceph"


@dataclass(frozen=True)
class Endpoint:
    """A service in the catalog: its type and URLs, and the configuration sections in which its user logs in."""

    type: str
    internal: str
    public: str
    description: str
    sections: tuple[str, ...] = ()


def identity(context: Context, endpoint: Endpoint) -> Contract:
    """Service, endpoints and user of this service in Keystone; the Secret is <name>-keystone."""
    name = context.name
    spec = {
        "instance": "keystone",
        "serviceName": name,
        "serviceType": endpoint.type,
        "description": endpoint.description,
        "region": context.spec.region,
        "endpoints": {"internal": endpoint.internal, "public": endpoint.public},
        "username": name,
        "sections": list(endpoint.sections),
        "secretName": f"{name}-keystone",
    }
    return Contract("Identity", KeystoneService.KIND, "keystone", Keystone.KIND, spec, gates=False)


def ingress_values(context: Context) -> Values:
    """`network.ingress` of a chart with public endpoints."""
    return {
        "ingress": {
            "enabled": context.settings.ingress,
            "class_name": INGRESS_CLASS,
            "domain": context.spec.public_domain,
            "tls_secret": PUBLIC_TLS,
        }
    }


def endpoint_values(context: Context, public_name: str, port_name: str, port: int) -> Values:
    """One entry of `endpoints` of a chart: the Service's port, and the public name in a cloud with ingress."""
    if not context.settings.ingress:
        return {"port": {port_name: {"default": port}}}
    return {
        "port": {port_name: {"default": port, "public": 443}},
        "host_fqdn_override": {"public": f"{public_name}.{context.spec.public_domain}"},
        "scheme": {"public": "https"},
    }


def cleanup_values(cleanup: Cleanup) -> Values:
    """`cron.db_purge` of a chart; without a schedule no CronJob exists."""
    return {
        "schedule": cleanup.schedule if cleanup.enabled else None,
        "age": cleanup.age,
        "batch": cleanup.batch,
    }


def api_conf(context: Context) -> Values:
    """oslo.config sections of every API: authentication, cache, notifications."""
    return {
        "DEFAULT": {"debug": context.spec.log_level == "DEBUG"},
        "keystone_authtoken": {
            "service_token_roles": "service",
            "service_token_roles_required": True,
            "memcached_servers": servers(context.spec, context.namespace),
            "memcache_use_advanced_pool": True,
        },
        # Requests must not wait for the notification bus: if it is down, retries would delay each request.
        "oslo_messaging_notifications": {"driver": "messagingv2", "retry": 0},
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        "oslo_policy": {"enforce_scope": True, "enforce_new_defaults": True},
    }
