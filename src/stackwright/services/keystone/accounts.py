"""The contract by which a service gets its user and its catalog entry. The release does not wait for it."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.contracts import KeystoneService
from stackwright.services.context import Context
from stackwright.services.declaration import Contract
from stackwright.services.keystone.kind import Keystone


@dataclass(frozen=True)
class Endpoint:
    """A service in the catalog: its type and URLs, and the configuration sections with its user's credentials."""

    type: str
    internal: str
    public: str
    description: str
    sections: tuple[str, ...] = ()


def identity(context: Context, endpoint: Endpoint) -> Contract:
    """Service, endpoints and user of this service in Keystone; the Secret is <name>-keystone."""
    name = context.name
    spec = {
        "instance": "keystone",
        "serviceName": name,
        "serviceType": endpoint.type,
        "description": endpoint.description,
        "region": context.spec.region,
        "endpoints": {"internal": endpoint.internal, "public": endpoint.public},
        "username": name,
        "sections": list(endpoint.sections),
        "secretName": f"{name}-keystone",
    }
    return Contract("Identity", KeystoneService.KIND, "keystone", Keystone.KIND, spec, gates=False)
