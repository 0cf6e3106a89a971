"""Values and the certificate of the ingress."""

from __future__ import annotations

from stackwright.api.fields.shared import SecretValue
from stackwright.services.context import CONTROL_PLANE, INGRESS_CLASS, PUBLIC_TLS, Context, Values, placed
from stackwright.services.declaration import Certificate


def certificates(context: Context) -> tuple[Certificate, ...]:
    given = context.settings.public_endpoints
    if given:
        files = {"ca.crt": given.ca_cert, "tls.crt": given.api_cert, "tls.key": given.api_key}
        return (Certificate(PUBLIC_TLS, source={field: _where(value) for field, value in files.items()}),)
    return (Certificate(PUBLIC_TLS, names=(f"*.{context.spec.public_domain}",), server_only=True),)


def _where(value: SecretValue) -> tuple[str, str]:
    secret = value.value_from.secret_key_ref
    return secret.name, secret.key


def chart_values(context: Context) -> Values:
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "controller"),
        "ingress_class": {"name": INGRESS_CLASS},
        "secrets": {"tls": {"public": [PUBLIC_TLS]}},
    }
