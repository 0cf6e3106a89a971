"""The OpenStack resources of a cluster, each with the request that creates it. Pure.

The router interface is a port of ours, so it has a mark and an id like every resource, even at a router that is not
ours. Its address is the first one of the subnet, which becomes the gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from stackwright.api.fields.network import gateway_of
from stackwright.api.infra.ports import TEXT
from stackwright.controllers.capicluster import rules
from stackwright.controllers.capicluster.observe import Observed
from stackwright.controllers.capicluster.record import API, BASTION, GROUPS, INTERFACE, NETWORK, ROUTER, SUBNET, group
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, Progress, record_of
from stackwright.core.objects import key_of, shortened
from stackwright.core.openstack.calls import ADD_INTERFACE, CloudCall
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Key

Ids = Mapping[ResourceKey, Any]
API_PORT = 6443


@dataclass(frozen=True)
class Wanted:
    """external  id of the external network, or empty;  router  id of an existing router, or empty
    gateway   addresses of a router that is created;  bastion  whether a bastion is wanted or still exists
    lost      a deleted API address that the immutable endpoint names; another address cannot replace it
    """

    key: Key
    spec: Mapping[str, Any]
    external: str = ""
    router: str = ""
    gateway: tuple[Mapping[str, Any], ...] = ()
    bastion: bool = False
    lost: str = ""

    def named(self, suffix: str = "") -> dict[str, Any]:
        namespace, name = self.key
        body = {"name": f"k8s-clusterapi-cluster-{namespace}-{name}{suffix}", **self.described}
        return {**body, "tags": sorted(self.spec.get("tags") or ())}

    @property
    def described(self) -> dict[str, Any]:
        return {"description": shortened(f"Cluster {'/'.join(self.key)}", TEXT)}


def wanted(seen: Observed) -> Wanted:
    assert seen.found is not None
    names = seen.found.names or {}
    asked = (seen.spec.get("managedRouter") or {}).get("externalIPs")
    made = [{"ip_address": each} for each in (seen.status.get("router") or {}).get("ips") or () if asked]
    return Wanted(
        key_of(seen.obj),
        seen.spec,
        str((names.get("externalNetwork") or {}).get("id") or ""),
        str((names.get("router") or {}).get("id") or ""),
        seen.found.gateway or tuple(made),
        has_bastion(seen.spec) or seen.bastion is not None,
        _lost_address(seen),
    )


def _lost_address(seen: Observed) -> str:
    address = str((seen.status.get("apiServerFloatingIP") or {}).get("address") or "")
    if address in named_addresses(seen.spec) or API in record_of(seen.status):
        return ""
    return address if address == (seen.spec.get("controlPlaneEndpoint") or {}).get("host") else ""


def has_bastion(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("bastion")) and spec["bastion"].get("enabled") is not False


def has_floating_ip(spec: Mapping[str, Any]) -> bool:
    """Whether the API has a floating IP."""
    return (spec.get("apiServer") or {}).get("enableFloatingIP") is not False


def named_addresses(spec: Mapping[str, Any]) -> set[str]:
    """Floating IPs that the spec names. They belong to the user, even if the operator created them."""
    return {
        str(spec[part]["floatingIP"]) for part in ("apiServer", "bastion") if (spec.get(part) or {}).get("floatingIP")
    }


def api_port(spec: Mapping[str, Any]) -> int:
    given = (spec.get("controlPlaneEndpoint") or {}).get("port") or (spec.get("apiServer") or {}).get("port")
    return int(given or API_PORT)


def parts(want: Wanted) -> Iterator[DesiredResource]:
    if want.spec.get("managedSubnets"):
        yield from _network(want)
    managed = want.spec.get("managedSecurityGroups")
    if managed is not None:
        for name in GROUPS if want.bastion else GROUPS[:2]:
            body = want.named(f"-secgroup-{name}")
            yield DesiredResource(group(name), lambda _, body=body: body)  # type: ignore[misc]
        yield from rules.parts(managed, api_port(want.spec), want.bastion)
    body = {**want.described, "floating_network_id": want.external, "tags": sorted(want.spec.get("tags") or ())}
    given = (want.spec.get("apiServer") or {}).get("floatingIP")
    if want.external and has_floating_ip(want.spec) and not (given or want.lost):
        yield DesiredResource(API, lambda _: body)
    if want.external and want.bastion and not (want.spec.get("bastion") or {}).get("floatingIP"):
        yield DesiredResource(BASTION, lambda _: body)


def _network(want: Wanted) -> Iterator[DesiredResource]:
    """The network with a subnet, and the router with its interface."""
    yield DesiredResource(NETWORK, lambda _: _network_body(want))
    yield DesiredResource(SUBNET, partial(_subnet_body, want))
    if want.external and not want.router:
        yield DesiredResource(ROUTER, lambda _: _router_body(want))
    if want.external or want.router:
        yield DesiredResource(INTERFACE, partial(_interface_body, want))


def _network_body(want: Wanted) -> dict[str, Any]:
    managed = want.spec.get("managedNetwork") or {}
    fields = {"mtu": managed.get("mtu") or None, "port_security_enabled": managed.get("enablePortSecurity")}
    given = {name: value for name, value in fields.items() if value is not None}
    return {**want.named(), "admin_state_up": True, **given}


def _subnet_body(want: Wanted, ids: Ids) -> dict[str, Any]:
    subnet = want.spec["managedSubnets"][0]
    pools = [{"start": pool["start"], "end": pool["end"]} for pool in subnet.get("allocationPools") or ()]
    return {
        **want.named(),
        "network_id": ids[NETWORK],
        "cidr": subnet["cidr"],
        "ip_version": 4,
        "gateway_ip": gateway_of(subnet["cidr"]),
        "dns_nameservers": list(subnet.get("dnsNameservers") or ()),
        **({"allocation_pools": pools} if pools else {}),
    }


def _router_body(want: Wanted) -> dict[str, Any]:
    outside = {"network_id": want.external}
    addresses = {"external_fixed_ips": [dict(each) for each in want.gateway]} if want.gateway else {}
    return {**want.named(), "admin_state_up": True, "external_gateway_info": {**outside, **addresses}}


def _interface_body(want: Wanted, ids: Ids) -> dict[str, Any]:
    address = {"subnet_id": ids[SUBNET], "ip_address": gateway_of(want.spec["managedSubnets"][0]["cidr"])}
    return {**want.named("-router"), "network_id": ids[NETWORK], "fixed_ips": [address], "security_groups": []}


def attached(owner: Owner, want: Wanted, found: Progress) -> tuple[CloudCall, ...]:
    """The request that makes the port an interface of the router. A port that was not listed is treated as attached."""
    router = want.router or found.record.get(ROUTER)
    port = found.existing.get(INTERFACE)
    if port is None or not router or port.facts.get("device_id", router) == router:
        return ()
    return (owner.call("update", ROUTER, id=router, body={ADD_INTERFACE: port.id}, why="the subnet's gateway"),)
