"""Values, keys and contracts of Barbican."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.fields.shared import SecretValue
from stackwright.api.services.kinds import Size
from stackwright.core.helm.sensitive import Sections
from stackwright.services.barbican.features import BarbicanSettings, Vault
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Contract, Keys
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.cleanup import cleanup_values
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging
from stackwright.services.sizes import limits

PORT = 9311
API = "barbican-api"
KEK = "barbican-kek"  # Secret with the keys that encrypt the keys of projects
KEK_TURN = 90 * 24 * 3600.0
# A key is kept after the rotation: until the keys of projects are encrypted again, and for restored backups.
KEKS = 100
# Barbican's default policies use the roles of all services. Those are for policies and tests of earlier releases.
ROLES = ("creator", "observer", "audit", "key-manager:service-admin")
SIMPLE, VAULT = "simple_crypto", "vault"  # names of the stores


@dataclass(frozen=True)
class Sizing:
    """Pods, and processes in each. A worker generates keys, which takes seconds of processor time."""

    api: int
    worker: int
    api_workers: int
    worker_processes: int


# With fewer than two processes, an API would not answer probes during a slow request, such as one to Vault.
SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 2, 1),
    "tiny": Sizing(3, 3, 2, 1),
    "small": Sizing(3, 3, 2, 2),
    "medium": Sizing(6, 3, 4, 4),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT)
    return Endpoint("key-manager", internal, context.public_url("barbican", internal), "Key manager")


def _stores(vault: Vault | None) -> Values:
    """The sections of the stores. With Vault, Simple Crypto stays, for the secrets that it has already."""
    if vault is None:
        return {}
    return {
        "secretstore": {
            "enabled_secretstore_plugins": {"values": ["store_crypto", "vault_plugin"]},
            "enable_multiple_secret_stores": True,
            "stores_lookup_suffix": [SIMPLE, VAULT],
        },
        f"secretstore:{SIMPLE}": {"secret_store_plugin": "store_crypto", "crypto_plugin": "simple_crypto"},
        f"secretstore:{VAULT}": {"secret_store_plugin": "vault_plugin", "global_default": True},
        "vault_plugin": {
            "vault_url": vault.vault_url,
            "use_ssl": str(vault.vault_url).lower().startswith("https://"),
            "kv_mountpoint": vault.kv_mountpoint,
            "kv_version": vault.kv_version,
            **({"namespace": vault.namespace} if vault.namespace else {}),
        },
    }


def _barbican_conf(context: Context) -> Values:
    conf = api_conf(context)
    # Of the notifications that other services send, Barbican has none.
    del conf["oslo_messaging_notifications"]
    conf["DEFAULT"]["host_href"] = endpoint(context).public
    conf["queue"] = {"asynchronous_workers": SIZES[context.spec.size].worker_processes}
    return {**conf, **_stores(context.settings.vault)}


def chart_values(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    size = SIZES[spec.size]
    replicas = {"api": size.api, "worker": size.worker}
    ((authority, authority_key),) = authorities(settings) or (("", ""),)
    return {
        "endpoints": {
            "cluster_domain_suffix": spec.cluster_domain,
            "key_manager": {"port": {"api": {"default": PORT}}},
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, *replicas, "job"),
        "pod": {
            "replicas": replicas,
            "resources": limits(api=size.api_workers, worker=size.worker_processes),
        },
        "secrets": {
            "oslo_db": {"barbican": f"{context.name}-database"},
            "oslo_messaging": {"barbican": f"{context.name}-messaging"},
            "identity": {"barbican": f"{context.name}-keystone"},
            "kek": KEK,
            "vault_ca": {"name": authority, "key": authority_key},
        },
        "cron": {
            "db_purge": {name: value for name, value in cleanup_values(settings.cleanup).items() if name != "batch"}
        },
        "conf": {
            "barbican": _barbican_conf(context),
            "barbican_api_uwsgi": {"uwsgi": {"processes": size.api_workers}},
            "logging": {"logger_barbican": {"level": spec.log_level}},
        },
    }


def _where(value: SecretValue) -> tuple[str, str]:
    reference = value.value_from.secret_key_ref
    return reference.name, reference.key


def authorities(settings: BarbicanSettings) -> tuple[tuple[str, str], ...]:
    """Secret and key with the CA certificate of Vault, if it is given."""
    vault = settings.vault
    return (_where(vault.ssl_ca_crt_file),) if vault and vault.ssl_ca_crt_file else ()


def outside(settings: BarbicanSettings) -> str:
    """The place of secrets in Vault. The URL without user information, which may contain a password."""
    vault = settings.vault
    if vault is None:
        return ""
    url = re.sub(r"(?<=://)[^/]*@", "", str(vault.vault_url))
    namespace = f", namespace {vault.namespace}" if vault.namespace else ""
    return f"Vault at {url}{namespace}, path {vault.kv_mountpoint}"


def sensitive(settings: BarbicanSettings) -> Sections:
    """The credentials for Vault, which users have in Secrets."""
    vault: Any = settings.vault
    if vault is None:
        return {}
    return {"vault_plugin": {name: _where(getattr(vault, name)) for name in ("approle_role_id", "approle_secret_id")}}


def keys(context: Context) -> tuple[Keys, ...]:
    """The keys of Simple Crypto live as long as the database: without them, the secrets in it are lost."""
    return (Keys(KEK, every=KEK_TURN, max_active=KEKS, owner=(MariaDB.KIND, "mariadb")),)


def contracts(context: Context) -> tuple[Contract, ...]:
    known = identity(context, endpoint(context))
    return (
        database(context.name),
        messaging(context.name, context.settings.messaging_instance),
        # It only validates tokens, for which the role `service` is enough.
        replace(known, spec={**known.spec, "roles": ["service"], "additionalRoles": list(ROLES)}),
    )
