"""The options by which Neutron writes names of ports and floating IPs to Designate."""

from __future__ import annotations

from stackwright.services.context import Context, Values

API, PORT = "designate-api", 9001
SECTION = "designate"  # of Neutron's configuration, with the credentials of its user


def external_dns(context: Context) -> Values:
    """Sections of neutron.conf; empty in a cloud without DNS service.

    Neutron writes no names while its own domain is the default one. Each network may have another one.
    """
    if "dns" not in context.settings.services:
        return {}
    domain = f"internal.{context.spec.public_domain or 'cloud'}."
    return {
        "DEFAULT": {"external_dns_driver": "designate", "dns_domain": domain},
        SECTION: {"url": context.url(API, PORT, "/v2"), "allow_reverse_dns_lookup": True},
    }
