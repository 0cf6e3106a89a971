"""The ingress: serves the Ingress objects of the other services with TLS, on the control-plane nodes.

It owns the certificate that they all name: the user's own one, or one of the cloud's authority for all names below the
public domain.
"""

from __future__ import annotations

from pydantic import Field

from stackwright.api.cloud.certificates import PublicEndpoints
from stackwright.api.cloud.features import SecretValue
from stackwright.api.services.kinds import Ingress
from stackwright.services.declaration import (
    CONTROL_PLANE,
    INGRESS_CLASS,
    PUBLIC_TLS,
    Certificate,
    Chart,
    Context,
    Service,
    Settings,
    Values,
    placed,
)


class IngressSettings(Settings):
    """The part of features.ssl for public endpoints."""

    public_endpoints: PublicEndpoints | None = Field(
        None, description="TLS of public endpoints; absent: Stackwright makes an authority and a certificate."
    )


def _certificates(context: Context) -> tuple[Certificate, ...]:
    given = context.settings.public_endpoints
    if given:
        files = {"ca.crt": given.ca_cert, "tls.crt": given.api_cert, "tls.key": given.api_key}
        return (Certificate(PUBLIC_TLS, source={field: _where(value) for field, value in files.items()}),)
    return (Certificate(PUBLIC_TLS, names=(f"*.{context.spec.public_domain}",), server_only=True),)


def _where(value: SecretValue) -> tuple[str, str]:
    secret = value.value_from.secret_key_ref
    return secret.name, secret.key


def _values(context: Context) -> Values:
    return {
        "images": {"tags": {"ingress": context.image("ingress")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "controller"),
        "ingress_class": {"name": INGRESS_CLASS},
        "secrets": {"tls": {"public": [PUBLIC_TLS]}},
    }


SERVICE = Service(
    service="ingress",
    name="ingress",
    group="infra",
    resource=Ingress,
    charts=(Chart("ingress", _values),),
    certificates=_certificates,
    settings=IngressSettings,
)
