"""What Tempest must know of a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackwright.services.registry import PUBLIC


@dataclass(frozen=True)
class Facts:
    """admin       what Keystone knows the administrator by, without the password
    domain      of the public endpoints: https://<service>.<domain>
    address     where those names lead
    services    the cloud's, by the words of an OpenStackDeployment
    extensions  of its Neutron
    computes    how many hypervisors report
    image, flavor, larger   ids of something small to boot, and of a flavor to resize it to
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
