"""Values of charts with public endpoints."""

from __future__ import annotations

from stackwright.services.context import INGRESS_CLASS, PUBLIC_TLS, Context, Values


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
