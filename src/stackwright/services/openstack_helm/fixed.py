"""Values that the published charts get for every cloud, and options that they add themselves. Pure.

Checked against the charts of 2026.1. Jobs and Secrets that the operator replaces are disabled: contracts provide
databases, bus users, catalog and service users, and the operator rotates Fernet keys. Only the Deployment with its
Service, the database migration and, for Glance, the metadata definitions are enabled. A null removes a default of the
published chart.
"""

from __future__ import annotations

from stackwright.services.context import Values

IMAGES_DIR = "/var/lib/glance/images"
_CONF_DIR = "/etc/apache2/conf-enabled"

_ON = ("configmap_bin", "configmap_etc", "deployment_api", "job_db_sync", "pdb_api", "service_api")
# The charts of 2026.1 removed ingress_api and service_ingress_api; older ones have them.
_OFF = (
    "ingress_api", "job_bootstrap", "job_db_drop", "job_db_init", "job_image_repo_sync", "job_rabbit_init",
    "mariadb_db", "network_policy", "pod_rally_test", "secret_db", "secret_keystone", "secret_rabbitmq",
    "secret_registry", "service_ingress_api",
)  # fmt: skip
_OFF_KEYSTONE = (
    "cron_credential_rotate", "cron_fernet_rotate", "job_credential_cleanup", "job_credential_setup",
    "job_domain_manage", "job_fernet_setup", "secret_credential_keys", "secret_fernet_keys",
)  # fmt: skip
_OFF_GLANCE = ("job_clean", "job_ks_endpoints", "job_ks_service", "job_ks_user", "job_storage_init")


def _manifests(on: tuple[str, ...], off: tuple[str, ...]) -> Values:
    return dict.fromkeys(sorted((*_ON, *on)), True) | dict.fromkeys(sorted((*_OFF, *off)), False)


def _service(host: str, port_name: str, port: int, **more: object) -> Values:
    return {"hosts": {"default": host}, "port": {port_name: {"default": port}}, **more}


def _internal(*services: str) -> list[Values]:
    return [{"endpoint": "internal", "service": service} for service in services]


def _endpoints(chart: str) -> Values:
    return {
        "oslo_db": _service("mariadb", "mysql", 3306, path=f"/{chart}", scheme="mysql+pymysql"),
        "oslo_cache": _service("memcached", "memcache", 11211),
        "oslo_messaging": _service("rabbitmq", "amqp", 5672, path=f"/{chart}", scheme="rabbit"),
    }


def _pod(*jobs: str) -> Values:
    """As in our charts: no CPU limit, and a new pod is ready before an old one is removed."""
    unlimited = {"limits": {"cpu": None}}
    rolling = {"max_surge": 1, "max_unavailable": 0}
    upgrades = {"deployments": {"pod_replacement_strategy": "RollingUpdate", "rolling_update": rolling}}
    resources = {"enabled": True, "api": unlimited, "jobs": dict.fromkeys(jobs, unlimited)}
    return {"resources": resources, "lifecycle": {"upgrades": upgrades}}


_LOGGING: Values = {"formatter_context": {"datefmt": None}}
# Only the file from a Secret configures the database. The URL of the bus is oslo.messaging's default, because their
# chart would complete an empty one with a generated password; if a bus exists, the file from its Secret overrides it.
_CONF: Values = {
    "DEFAULT": {"transport_url": "rabbit://"},
    "database": {"connection": None},
    "oslo_messaging_rabbit": None,
    "oslo_policy": {"policy_file": None},
}

FIXED: dict[str, Values] = {
    "keystone": {
        "manifests": _manifests((), _OFF_KEYSTONE),
        "bootstrap": {"enabled": False},
        "pod": _pod("db_sync"),
        "endpoints": _endpoints("keystone"),
        # Older charts wait for Jobs whose manifests are disabled.
        "dependencies": {
            "static": {
                "api": {"jobs": ["keystone-db-sync"], "services": _internal("oslo_cache", "oslo_db")},
                "db_sync": {"jobs": [], "services": _internal("oslo_db")},
            }
        },
        "conf": {
            "keystone": {
                **_CONF,
                # Its memcached client would unpickle data from any pod.
                "cache": {"enabled": False, "backend": None},
                "identity": {"domain_specific_drivers_enabled": None, "domain_config_dir": None},
            },
            # Run by env, because the script's stop passes options of Apache: env rejects them, uWSGI might run.
            "software": {
                "apache2": {
                    "binary": "env",
                    "start_parameters": f"uwsgi --ini {_CONF_DIR}/wsgi-keystone.conf",
                    "conf_dir": _CONF_DIR,
                }
            },
            "logging": _LOGGING,
        },
    },
    "glance": {
        "manifests": _manifests(("job_metadefs_load", "pvc_images", "pvc_tmp"), _OFF_GLANCE),
        "bootstrap": {"enabled": False},
        "pod": _pod("db_sync", "metadefs_load"),
        "endpoints": {
            **_endpoints("glance"),
            "identity": {
                "auth": {"glance": {"password": ""}},
                "hosts": {"default": "keystone-api", "internal": "keystone-api"},
                "port": {"api": {"default": 5000, "internal": 5000}},
                "path": {"default": "/v3"},
                "scheme": {"default": "http"},
            },
        },
        "dependencies": {
            "static": {
                "api": {"jobs": ["glance-db-sync"], "services": _internal("oslo_db", "identity")},
                "db_sync": {"jobs": [], "services": _internal("oslo_db")},
                "metadefs_load": {"jobs": ["glance-db-sync"]},
            }
        },
        "conf": {
            "glance": {
                **_CONF,
                "DEFAULT": {**_CONF["DEFAULT"], "workers": None, "enable_v1_api": None},
                # An empty key would become a random one that changes at each upgrade; the real key is in the Secret.
                "keystone_authtoken": {
                    # None: its client would unpickle data from any pod. Their chart replaces an empty text.
                    "memcached_servers": " ",
                    "memcache_secret_key": "unused",
                    "memcache_security_strategy": None,
                    "auth_type": None,
                    "auth_version": None,
                    "service_type": None,
                },
                # Their chart mounts the image volume at this path.
                "file": {"filesystem_store_datadir": IMAGES_DIR},
                "rbd": None,
                "glance_store": {
                    "filesystem_store_datadir": None,
                    "cinder_catalog_info": None,
                    **{
                        f"rbd_store_{name}": None
                        for name in ("ceph_conf", "chunk_size", "crush_rule", "pool", "replication", "user")
                    },
                    "default_swift_reference": None,
                    **{
                        f"swift_store_{name}": None
                        for name in ("config_file", "container", "create_container_on_put", "endpoint_type")
                    },
                },
            },
            "glance_api_uwsgi": {
                "uwsgi": {
                    "wsgi-file": "/usr/bin/glance-wsgi-api",
                    **dict.fromkeys(("exit-on-reload", "module", "route-user-agent", "stats", "stats-http")),
                }
            },
            "swift_store": "# no store in Swift\n",
            "logging": _LOGGING,
        },
    },
}

# Options that the published charts always add: section and option (`*` for any) → why they are harmless.
ADDED: dict[str, dict[tuple[str, str], str]] = {
    "keystone": {
        ("DEFAULT", "transport_url"): "the default of oslo.messaging; the file of the Secret overrides it",
        ("oslo_concurrency", "lock_path"): "their chart mounts a volume there",
        ("cache", "*"): "off",
    },
    "glance": {
        ("DEFAULT", "transport_url"): "the default of oslo.messaging; notifications have a URL of their own",
        ("DEFAULT", "bind_port"): "uWSGI listens on the port; Glance ignores this option",
        ("DEFAULT", "public_endpoint"): "the public URL, which our Glance derives from the request",
        ("cors", "allowed_origin"): "the dashboard's address; our Glance allows no cross-origin requests",
        ("file", "*"): "names the folder that their chart mounts; no store of this name is enabled",
        ("swift", "*"): "no store of this name is enabled",
        ("keystone_authtoken", "memcached_servers"): "blank, which is none",
        ("keystone_authtoken", "memcache_secret_key"): "the file of the Secret overrides it",
        **{
            ("keystone_authtoken", option): "the file of the Secret overrides it"
            for option in (
                "auth_uri",
                "auth_url",
                "region_name",
                "project_name",
                "project_domain_name",
                "user_domain_name",
                "username",
                "password",
            )
        },
        ("oslo_concurrency", "lock_path"): "their chart mounts a volume there",
        ("os_glance_staging_store", "*"): "on the chart's volume for it",
        ("os_glance_tasks_store", "*"): "on the chart's volume for it",
    },
}
