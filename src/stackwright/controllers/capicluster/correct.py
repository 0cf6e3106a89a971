"""What is not made but set: the router's interface, and what may change of a subnet. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from stackwright.controllers.capicluster.objects import Wanted
from stackwright.controllers.capicluster.record import INTERFACE, ROUTER, SUBNET
from stackwright.core.belongings import Owner, Step
from stackwright.core.clouds import CloudCall


def attached(owner: Owner, want: Wanted, found: Step) -> tuple[CloudCall, ...]:
    """The port becomes an interface of the router by a request of its own. What was not looked at is taken to be."""
    router = want.router or found.record.get(ROUTER)
    port = found.things.get(INTERFACE)
    if port is None or not router or port.facts.get("device_id", router) == router:
        return ()
    return (owner.call("update", ROUTER, id=router, body={"add_interface": port.id}, why="leads out of the subnet"),)


def corrections(owner: Owner, want: Wanted, found: Step) -> tuple[CloudCall, ...]:
    return (*_servers(owner, want, found), *_tags(owner, want, found))


def _tags(owner: Owner, want: Wanted, found: Step) -> Iterator[CloudCall]:
    """Neutron takes them by a request of their own, before which the process may have died."""
    wanted = set(want.spec.get("tags") or ())
    for slot, thing in found.things.items():
        have = set(thing.facts.get("tags") or ())
        if "tags" in thing.facts and not wanted <= have:
            yield owner.call("update", slot, id=thing.id, body={"tags": sorted(have | wanted)}, why="lacks tags")


def _servers(owner: Owner, want: Wanted, found: Step) -> tuple[CloudCall, ...]:
    """Those of the subnet may change."""
    subnet = found.things.get(SUBNET)
    if subnet is None or "dns_nameservers" not in subnet.facts:
        return ()
    servers = list(want.spec["managedSubnets"][0].get("dnsNameservers") or ())
    if servers == list(subnet.facts["dns_nameservers"] or ()):
        return ()
    return (owner.call("update", SUBNET, id=subnet.id, body={"dns_nameservers": servers}, why="changed"),)
