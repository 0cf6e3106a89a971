"""Values of Horizon."""

from __future__ import annotations

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.values import auth_url
from stackwright.services.memcached.values import servers
from stackwright.services.sizes import Sizing, limits

NAME = "horizon"
PORT = 80
CONTAINER_PORT = 8080
SECRET_KEY = "horizon-secret-key"  # noqa: S105 - the name of a Secret


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1),
    "tiny": Sizing(2, 2),
    "small": Sizing(3, 2),
    "medium": Sizing(3, 4),
}


def _names(context: Context) -> list[str]:
    """Host names that Horizon accepts; localhost is for kubelet and for port forwarding."""
    inside = context.host(NAME).split(".")
    return ["localhost", *(".".join(inside[:parts]) for parts in (1, 2, 3, len(inside)))]


def _settings(context: Context) -> Values:
    public = f"{NAME}.{context.spec.public_domain}"
    settings: Values = {
        "ALLOWED_HOSTS": _names(context),
        "OPENSTACK_KEYSTONE_URL": auth_url(context),
        "DEFAULT_THEME": context.settings.default_theme,
        "CACHES": {"default": {"LOCATION": servers(context.spec, context.namespace)}},
        "LOGGING": {
            "loggers": {
                name: {"level": context.spec.log_level} for name in ("horizon", "openstack_dashboard", "openstack_auth")
            }
        },
    }
    if context.settings.ingress:
        settings["ALLOWED_HOSTS"].append(public)
        # The ingress terminates TLS and overwrites this header; without ingress, a client could set it.
        settings |= {
            "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"],
            "CSRF_TRUSTED_ORIGINS": [f"https://{public}"],
            "CSRF_COOKIE_SECURE": True,
            "SESSION_COOKIE_SECURE": True,
        }
    return settings


def chart_values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "endpoints": {
            "cluster_domain_suffix": context.spec.cluster_domain,
            "dashboard": {"hosts": {"default": NAME}, "port": {"web": {"default": PORT, "container": CONTAINER_PORT}}},
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "horizon"),
        "pod": {"replicas": {"horizon": size.pods}, "resources": limits(horizon=size.workers)},
        "secrets": {"secret_key": SECRET_KEY},
        "conf": {"horizon": _settings(context), "horizon_uwsgi": {"uwsgi": {"processes": size.workers}}},
    }
