"""The options by which services of the cloud get keys from Barbican, in the name of their users."""

from __future__ import annotations

from stackwright.services.context import Context, Values
from stackwright.services.keystone.values import auth_url


def key_manager(context: Context, service_section: str = "") -> Values:
    """Sections for Castellan; empty in a cloud without a key manager.

    service_section  the section with the credentials of the service, which go along with the token of a user, because
                     that may expire before the request of the user is done
    """
    if "key-manager" not in context.settings.services:
        return {}
    found: Values = {
        "key_manager": {"backend": "barbican"},
        "barbican": {
            "auth_endpoint": auth_url(context),
            "barbican_endpoint_type": "internal",
            "barbican_region_name": context.spec.region,
        },
    }
    if service_section:
        found["barbican"]["send_service_user_token"] = True
        found["barbican_service_user"] = {"auth_section": service_section}
    return found
