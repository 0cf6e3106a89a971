"""Options that all OpenStack APIs share."""

from __future__ import annotations

from stackwright.services.context import Context, Values
from stackwright.services.memcached.values import servers


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
