"""Questions for what is not ours: images, flavors, networks, groups, by the filters of their APIs.

Neutron shows an administrator what all projects have. What nobody uses of others is asked for in the project of the
credentials only; of networks and what belongs to them, which may be shared, its own come before those of others. Who
names a project or an id means just that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack_send import COMPUTE, problem_of
from stackwright.core.clouds import Question, Thing

if TYPE_CHECKING:
    from openstack.connection import Connection

# What is asked → service, path, the answer's key, and fields that an answer is filtered by here, for the API does not.
WHERE: Mapping[str, tuple[str, str, str, tuple[str, ...]]] = {
    "image": ("image", "/images", "images", ()),
    "flavor": ("compute", "/flavors", "flavors", ("name",)),
    "server-group": ("compute", "/os-server-groups", "server_groups", ("name",)),
    "network": ("network", "/networks", "networks", ()),
    "subnet": ("network", "/subnets", "subnets", ()),
    "router": ("network", "/routers", "routers", ()),
    "security-group": ("network", "/security-groups", "security_groups", ()),
    "floating-ip": ("network", "/floatingips", "floatingips", ()),
    "port": ("network", "/ports", "ports", ()),
    "trunk": ("network", "/trunks", "trunks", ()),
    "volume": ("block_storage", "/volumes/detail", "volumes", ("name",)),
    "availability-zone": ("compute", "/os-availability-zone", "availabilityZoneInfo", ()),
}
FACTS = (
    "network_id", "cidr", "ip_version", "gateway_ip", "router:external", "mtu", "tags", "floating_ip_address",
    "external_gateway_info", "zoneState",
)  # fmt: skip
LIMIT = 1000
NOT_SHARED = ("security-group", "floating-ip", "port", "trunk")


def find(connection: Connection, asked: Question) -> tuple[Thing, ...]:
    """Raises Trouble or Denied."""
    service, path, key, here = WHERE[asked.what]
    where = dict(asked.where)
    mine = {} if "project_id" in where or "id" in where else own(connection, service)
    params = {name: _parameter(name, value) for name, value in where.items() if name not in here}
    if asked.what in NOT_SHARED:
        params |= mine
    every = list(pages(connection, service, path, key, params))
    if mine and "network_id" not in where:  # what is in one network is of whoever it is
        every = [raw for raw in every if raw.get("project_id") == mine["project_id"]] or every
    found = [thing(asked.what, raw) for raw in every]
    return tuple(each for each in found if all(_field(each, name) == where[name] for name in here if name in where))


def own(connection: Connection, service: str) -> dict[str, str]:
    """The filter for what is the credentials' own. Nova and Cinder need none; without a project there is none."""
    project = connection.current_project_id if service == "network" else None
    return {"project_id": project} if project else {}


def thing(what: str, raw: Mapping[str, Any]) -> Thing:
    """A zone has a name and no id."""
    facts = {name: raw[name] for name in FACTS if name in raw}
    name = str(raw.get("name") or raw.get("zoneName") or "")
    return Thing(what, str(raw.get("id") or name), name, str(raw.get("status") or ""), facts=facts)


def pages(
    connection: Connection, service: str, path: str, key: str, params: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Everything that a list has, a page after the other."""
    more: dict[str, Any] = {"microversion": COMPUTE} if service == "compute" else {}
    marker: dict[str, Any] = {}
    while True:
        proxy: Any = getattr(connection, service)
        response = proxy.get(path, params={"limit": LIMIT, **params, **marker}, **more)
        if response.status_code >= 400:
            raise problem_of(response)
        answer = response.json()
        yield from answer[key]
        if len(answer[key]) < LIMIT and not answer.get(f"{key}_links") and not answer.get("next"):
            return
        if not answer[key]:
            return
        marker = {"marker": answer[key][-1]["id"]}


def _parameter(name: str, value: Any) -> Any:
    """Neutron takes several tags as one word with commas, Glance each by itself."""
    if isinstance(value, tuple) and name != "tag":
        return ",".join(map(str, value))
    return list(value) if isinstance(value, tuple) else value


def _field(found: Thing, name: str) -> Any:
    return found.name if name == "name" else found.facts.get(name)
