"""The APIs of the types of resources: all facts of the adapter about a type, next to core.openstack.resource_types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.rest import resource_facts, rules
from stackwright.adapters.openstack.tenant.rest.resource_facts import MARKS, Facts, Raw, fields
from stackwright.adapters.openstack.transport.send import COMPUTE, request
from stackwright.adapters.openstack.transport.shapes import Image, Port, Resource, Shape, Zone
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

# Of ListPolicy.pause. It leaves capacity to other clients: for a whole list, Nova requests the security groups of all
# ports from Neutron. A peek is exempt: it is cheap, and slow only when it queues behind other requests to Nova.
PAUSE = 20.0


@dataclass(frozen=True)
class ListPolicy:
    """When and how the list of a type is fetched again.

    waiting   its maximum age in seconds for an object that waits for a change
    idle      the same for an object that does not wait
    pause     its minimum age, as a multiple of its duration
    changes   whether the API lists changes since a time, and the ids of those in one state; such lists are preferred to
              whole ones, which run in the background
    at_start  whether a new process fetches it at once, even if no object waits
    watched   whether it is refreshed for each waiting object that can have a resource of this type, not only for those
              that have one
    """

    waiting: float = 60.0
    idle: float = 180.0
    pause: float = PAUSE
    changes: bool = False
    at_start: bool = False
    watched: bool = False

    def age(self, waits: bool, took: float) -> float:
        """Seconds from the start of a list that took so long to the start of the next."""
        return max(self.waiting if waits else self.idle, self.pause * took)


@dataclass(frozen=True)
class RestFacts:
    """The API of a type.

    service   its name in openstacksdk's connection
    path      path of the collection; with `details`, of the list that has all fields
    key       name of a resource in requests and responses; `keys` that of a list
    shape     fields of a response that are checked
    facts     fields of a resource that decisions read, for types that are owned
    found     the same for results of a search
    query     parameters of every search
    unfiltered  filters that the API lacks, so that the results are filtered here
    scoped    whether an administrator's lists contain the resources of all projects
    shared    whether a search includes those of other projects
    optional  whether a cloud may lack the service or the extension
    lists     when and how the list is fetched again
    building  state of a resource that is being built, if the number of these is limited (`limiter.Scheduler`)
    apart     fields that a separate request changes → its method

    Rules of the API, from `rules`:
    created   returns fields that the response to a creation lacks; raises no error, because that would lose the id
    same      returns the existing resource with which a creation conflicts
    before    called before a deletion
    refused   called after a refused deletion: raises its error, or returns whether to repeat it
    """

    service: str
    path: str
    key: str
    keys: str
    facts: Facts = resource_facts.nothing
    details: str = ""
    microversion: str = ""
    shape: type[Shape] = Resource
    found: tuple[str, ...] = ("tags",)
    query: Mapping[str, str] = field(default_factory=dict)
    unfiltered: tuple[str, ...] = ()
    scoped: bool = False
    shared: bool = True
    optional: bool = False
    lists: ListPolicy = ListPolicy()
    building: str = ""
    apart: Mapping[str, str] = field(default_factory=dict)
    created: Callable[[Connection, Raw, Raw], Raw] = lambda connection, body, answer: {}
    same: Callable[[Connection, Raw], Raw | None] = lambda connection, body: None
    before: Callable[[Connection, str], None] = lambda connection, id_: None
    refused: Callable[[Connection, str, TransientCloudError | TerminalCloudError], bool] | None = None


_nova = partial(RestFacts, "compute", microversion=COMPUTE)
_tagged = partial(RestFacts, "network", scoped=True, apart={"tags": "PUT"})
_own_tagged = partial(_tagged, shared=False)

REST: dict[str, RestFacts] = {
    "server": _nova(
        "/servers", "server", "servers", resource_facts.server,
        details="/detail", lists=ListPolicy(0.5, 50.0, pause=1.0, changes=True, at_start=True, watched=True),
        building="BUILD", apart={"tags": "PUT", "metadata": "POST"}, created=rules.building,
    ),
    "floating-ip": _own_tagged(
        "/floatingips", "floatingip", "floatingips",
        fields("floating_ip_address", "port_id", "fixed_ip_address", "tags"),
        found=("floating_ip_address", "tags"),
    ),
    "trunk": _own_tagged(
        "/trunks", "trunk", "trunks", fields("port_id", "sub_ports", "tags"), found=("port_id", "tags"), optional=True
    ),
    "port": _own_tagged(
        "/ports", "port", "ports", resource_facts.port,
        shape=Port, found=("network_id", "tags"), refused=rules.remove_interface,
    ),
    "volume": RestFacts(
        "block_storage", "/volumes", "volume", "volumes", resource_facts.volume,
        details="/detail", unfiltered=("name",), optional=True, lists=ListPolicy(2.0, pause=3.0),
        created=rules.with_own_id, refused=rules.detach_from_gone,
    ),
    "router": _tagged(
        "/routers", "router", "routers", fields("admin_state_up", "external_gateway_info", "tags"),
        found=("tags", "external_gateway_info"), before=rules.leave_subnets,
    ),
    "subnet": _tagged(
        "/subnets", "subnet", "subnets", fields("network_id", "cidr", "gateway_ip", "dns_nameservers", "tags"),
        found=("network_id", "cidr", "tags"),
    ),
    "network": _tagged(
        "/networks", "network", "networks",
        fields("admin_state_up", "mtu", "port_security_enabled", "subnets", "tags"),
    ),
    "security-group": _own_tagged("/security-groups", "security_group", "security_groups", fields("tags")),
    "security-group-rule": RestFacts(
        "network", "/security-group-rules", "security_group_rule", "security_group_rules",
        fields("security_group_id"), scoped=True, shared=False, same=rules.same_rule,
    ),
    "image": RestFacts("image", "/images", "image", "images", shape=Image),
    # By default Nova lists only public flavors to an administrator.
    "flavor": _nova("/flavors", "flavor", "flavors", query={"is_public": "None"}, unfiltered=("name",)),
    "server-group": _nova("/os-server-groups", "server_group", "server_groups", unfiltered=("name",)),
    "availability-zone": _nova(
        "/os-availability-zone", "availabilityZone", "availabilityZoneInfo", shape=Zone, found=("zoneState",)
    ),
}  # fmt: skip


def resource_of(what: str, raw: Raw) -> CloudResource:
    """A managed resource from a response."""
    name, state = raw.get("name") or "", raw.get("status") or ""
    facts = {**resource_facts.created(raw), **REST[what].facts(raw)}
    return CloudResource(what, str(raw["id"]), name, state, MARKS[TYPES[what].mark](raw), facts)


def found_of(what: str, raw: Raw) -> CloudResource:
    """A result of a search. An availability zone has no id; its name is used instead."""
    facts = {name: raw[name] for name in REST[what].found if name in raw}
    name = str(raw.get("name") or raw.get("zoneName") or "")
    return CloudResource(what, str(raw.get("id") or name), name, str(raw.get("status") or ""), facts=facts)


def send(connection: Connection, what: str, method: str, path: str = "", **more: Any) -> Response:
    """Send a request for a resource type. Raises TransientCloudError or TerminalCloudError for every error response."""
    rest = REST[what]
    if rest.microversion:
        more["microversion"] = rest.microversion
    return request(connection, rest.service, method, f"{rest.path}{path}", **more)
