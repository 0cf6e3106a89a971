"""The floating IPs of a pool in its cloud: existing, attached, free, and those that the pool keeps. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stackwright.controllers.floatingippool.objects import unused
from stackwright.controllers.floatingippool.observe import Observed
from stackwright.controllers.infra.addresses import MARKED, UNMARK, is_of
from stackwright.core.openstack.resources import CloudResource, ResourceKey

GIVEN: ResourceKey = ("floating-ip", "")


@dataclass(frozen=True)
class Inventory:
    """record    the floating IPs of the pool
    keys      address → resource key of an existing floating IP in the record
    ips       address → floating IP that claims may get; the user's first
    attached  address → the port it is attached to
    ids       address → ids of the floating IPs with this address; several after an error in the cloud
    foreign   floating IPs of the user with the mark of another object
    """

    record: Mapping[ResourceKey, str]
    keys: Mapping[str, ResourceKey]
    ips: Mapping[str, CloudResource]
    attached: Mapping[str, str]
    ids: Mapping[str, list[str]]
    foreign: tuple[CloudResource, ...]

    def free(self, taken: Collection[str]) -> list[str]:
        """Addresses that are not attached to a port and not taken, the user's first."""
        return [address for address in self.ips if address not in taken and address not in self.attached]


def inventory(seen: Observed, record: Mapping[ResourceKey, str]) -> Inventory:
    """The floating IPs in a record, and the user's. Only the project view contains their attachments."""
    assert seen.view is not None
    ours = {key: resource for key, id_ in record.items() if (resource := seen.view.get(key, id_))}
    given = [found for each in seen.found.given.values() if (found := seen.view.get(GIVEN, each.id))]
    foreign = [each for each in given if each.mark and not is_of(each, seen.identity, record)]
    ips = {_address(each): each for each in (*(each for each in given if each not in foreign), *ours.values())}
    ids: dict[str, list[str]] = {}
    for each in (*(each for each in given if each.id not in record.values()), *ours.values()):
        ids.setdefault(_address(each), []).append(each.id)
    return Inventory(
        record,
        {_address(resource): key for key, resource in ours.items()},
        ips,
        {address: str(port) for address, each in ips.items() if (port := each.facts.get("port_id"))},
        ids,
        tuple(foreign),
    )


def _address(resource: CloudResource) -> str:
    return str(resource.facts.get("floating_ip_address", resource.id))


def kept(seen: Observed, has: Inventory, used: Collection[str], short: bool) -> list[ResourceKey]:
    """Slots to keep, and a new one if a claim lacks a floating IP."""
    assert seen.view is not None
    keys = list(has.record)
    if seen.spec.get("reclaimPolicy") == "Delete":
        needed = {*used, *has.attached, *(seen.spec.get("preAllocatedFloatingIPs") or ())}
        idle = {key for address, key in has.keys.items() if address not in needed}
        keys = [key for key in keys if key not in idle]
    return [*keys, unused(seen.identity, has.record, seen.view)] if short else keys


def unusable_causes(has: Inventory, unusable: Collection[str]) -> list[str]:
    """Messages with the cause for each of the user's addresses that is not used."""
    attached = {ip: f"port {port} uses it" for ip, port in has.attached.items()}
    foreign = {str(each.facts.get("floating_ip_address")): f"it {MARKED}; {UNMARK}" for each in has.foreign}
    of = "of spec.preAllocatedFloatingIPs is not used"
    return [f"Floating IP {ip} {of}: {cause}" for ip, cause in {**attached, **foreign}.items() if ip in unusable]
