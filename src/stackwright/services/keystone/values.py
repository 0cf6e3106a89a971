"""Values, Secrets, keys and contracts of Keystone."""

from __future__ import annotations

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Contract, Keys, Secret
from stackwright.services.ingress.endpoints import endpoint_values, ingress_values
from stackwright.services.keystone.features import KeystoneSettings
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.memcached.values import servers
from stackwright.services.rabbitmq.accounts import messaging
from stackwright.services.sizes import Sizing, limits

ADMIN_SECRET = "keystone-admin"  # noqa: S105 - the name of a Secret
DATABASE_SECRET = "keystone-database"  # noqa: S105
MESSAGING_SECRET = "keystone-messaging"  # noqa: S105
FERNET_KEYS = "keystone-fernet-keys"
CREDENTIAL_KEYS = "keystone-credential-keys"
CACHE_SECRET = "keystone-cache"  # noqa: S105
PORT = 5000
TOKEN_EXPIRATION = 12 * 3600
MAX_ACTIVE_KEYS = 7
CREDENTIAL_TURN = 30 * 24 * 3600

CLOUDS_YAML = """\
clouds:
  openstack:
    auth:
      auth_url: {auth_url!j}
      username: {username!j}
      password: {password!j}
      project_name: {project_name!j}
      user_domain_name: {user_domain_name!j}
      project_domain_name: {project_domain_name!j}
    region_name: {region_name!j}
    interface: internal
    identity_api_version: 3
"""


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 2),
    "tiny": Sizing(3, 2),
    "small": Sizing(6, 2),
    "medium": Sizing(15, 2),
}


def auth_url(context: Context) -> str:
    return f"http://{context.host('keystone-api')}:{PORT}/v3"


def _admin(context: Context) -> dict[str, str]:
    """Names of the administrator, from `features.keystone.users.admin` if the cloud sets them."""
    admin = context.settings.users.admin
    return {name: getattr(admin, name) for name in ("project_name", "user_domain_name", "project_domain_name")}


def _cadf(context: Context) -> str:
    """Destination of audit events: messagingv2, log, or empty for none."""
    return str(context.settings.cadf)


def chart_values(context: Context) -> Values:
    spec = context.spec
    size = SIZES[spec.size]
    audit = {"driver": _cadf(context)} if _cadf(context) else {"driver": "noop"}
    identity = {
        **endpoint_values(context, "keystone", "api", PORT),
        "auth": {"admin": {"region_name": spec.region, "project_name": _admin(context)["project_name"]}},
    }
    return {
        "network": ingress_values(context),
        "endpoints": {"cluster_domain_suffix": spec.cluster_domain, "identity": identity},
        "labels": placed(CONTROL_PLANE, "api", "job"),
        "pod": {"replicas": {"api": size.pods}, "resources": limits(api=size.workers)},
        "secrets": {
            "oslo_db": {"keystone": DATABASE_SECRET},
            "oslo_messaging": {"keystone": MESSAGING_SECRET if _cadf(context) == "messagingv2" else None},
            "cache": CACHE_SECRET,
            "fernet": FERNET_KEYS,
            "credential": CREDENTIAL_KEYS,
            "identity": {"admin": ADMIN_SECRET},
        },
        "conf": {
            "keystone": {
                "DEFAULT": {"debug": spec.log_level == "DEBUG"},
                "token": {"provider": "fernet", "expiration": TOKEN_EXPIRATION},
                "fernet_tokens": {"max_active_keys": MAX_ACTIVE_KEYS},
                "cache": {
                    "enabled": True,
                    # This back end continues without an unreachable cache. The plain ones fail one request for each
                    # broken connection.
                    "backend": "oslo_cache.memcache_pool",
                    "memcache_servers": servers(spec, context.namespace),
                    "memcache_dead_retry": 10,
                    "memcache_socket_timeout": 1,
                },
                "oslo_messaging_notifications": audit,
            },
            "keystone_api_uwsgi": {"uwsgi": {"processes": size.workers}},
            "logging": {"logger_keystone": {"level": spec.log_level}},
        },
    }


def client_values(context: Context) -> Values:
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "client"),
        "secrets": {"identity": {"admin": ADMIN_SECRET}},
    }


def secrets(context: Context) -> tuple[Secret, ...]:
    fixed = {"username": "admin", "auth_url": auth_url(context), "region_name": context.spec.region}
    fixed |= _admin(context)
    chosen = context.settings.admin_password
    given = {"password": (chosen.name, chosen.key)} if chosen else {}
    return (
        Secret(ADMIN_SECRET, fixed=fixed, templates={"clouds.yaml": CLOUDS_YAML}, given=given),
        Secret(CACHE_SECRET, generated=("key",)),
    )


def keys(context: Context) -> tuple[Keys, ...]:
    # Keystone accepts a token for its lifetime plus 2 days (allow_expired_window), so the oldest of max_active keys
    # must be at least that old before it is removed.
    window = TOKEN_EXPIRATION + 2 * 24 * 3600
    return (
        Keys(FERNET_KEYS, every=window / (MAX_ACTIVE_KEYS - 2), max_active=MAX_ACTIVE_KEYS),
        # A rotation does not re-encrypt stored credentials, so a key that may have encrypted one is never removed.
        Keys(CREDENTIAL_KEYS, every=CREDENTIAL_TURN, max_active=100, owner=(MariaDB.KIND, "mariadb")),
    )


def contracts(context: Context) -> tuple[Contract, ...]:
    if _cadf(context) != "messagingv2":
        return (database("keystone"),)
    return (database("keystone"), messaging("keystone", context.settings.messaging_instance, username="keystone"))


def requires(settings: KeystoneSettings) -> tuple[str, ...]:
    return ("database",) if settings.cadf != "messagingv2" else ("database", "messaging")
