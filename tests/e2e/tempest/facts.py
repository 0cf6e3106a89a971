"""Properties of a cloud that Tempest needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackwright.services.registry import PUBLIC


@dataclass(frozen=True)
class Facts:
    """admin       Keystone's identifiers of the administrator, without the password
    domain      of the public endpoints: https://<service>.<domain>
    address     to which those names resolve
    services    of the cloud, by their names in an OpenStackDeployment
    extensions  of its Neutron
    computes    number of hypervisors that report
    image, flavor, larger   ids of a small image, a small flavor, and a flavor for its resize
    external, floating      id and name of the network of floating IPs
    """

    admin: Mapping[str, str]
    region: str
    domain: str
    address: str
    services: frozenset[str]
    extensions: tuple[str, ...]
    computes: int
    image: str
    flavor: str
    larger: str
    external: str
    floating: str

    @property
    def hosts(self) -> list[str]:
        return [f"{public.host}.{self.domain}" for public in PUBLIC.values()]

    def url(self, service: str) -> str:
        return f"https://{PUBLIC[service].host}.{self.domain}"
