"""Search for resources that the operator does not own (images, flavors, networks, groups) by the filters of their APIs.

Neutron shows an administrator the resources of all projects. Types that projects do not share are searched in the
project of the credentials only. Networks and their parts may be shared: the project's own take precedence over those of
others. A filter by project or id is used as given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.send import COMPUTE, request
from stackwright.adapters.openstack.transport.shapes import json_of, project_of, things_in
from stackwright.core.bounds import values_in
from stackwright.core.openstack.clouds import Denied, Question, Thing, Trouble

if TYPE_CHECKING:
    from openstack.connection import Connection

# Type → service, path, key of the list in the response, and fields that are filtered here because the API does not.
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
FACTS = ("network_id", "cidr", "tags", "floating_ip_address", "external_gateway_info", "zoneState")
LIMIT = 500  # items per page
# Limits of a whole list. A Neutron port takes 1.2 KiB, a Nova server 3 KiB with 60 values.
LARGEST = 64 << 20  # bytes after decompression
VALUES = 1_500_000  # JSON values; each takes up to 150 bytes in Python
MOST = 25_000  # items
PAGES = 1000
KEPT = 64 << 10  # bytes of results: a hundred resources, or one with very many tags
WHOLE = 256 << 10  # the same where a status needs all results: four hundred subnets of a network
NOT_SHARED = ("security-group", "floating-ip", "port", "trunk")


class _Few:
    """The first results of a list: as many as fit into KEPT, but at least two, which show that a match is ambiguous.

    If the question needs the whole list: all results; raises Trouble if they do not fit into WHOLE.
    """

    def __init__(self, asked: Question) -> None:
        self.things: list[Thing] = []
        self._asked = asked
        self._left = WHOLE if asked.whole else KEPT

    def add(self, thing: Thing) -> None:
        if len(self.things) > 1 and self._left < 0 and not self._asked.whole:
            return
        if (weight := thing.weight) > KEPT:
            raise Trouble("Unreachable", f"a {thing.what} exceeds the limit of {KEPT >> 10} KiB")
        self._left -= weight
        if self._asked.whole and self._left < 0:
            text = f"a list of {thing.what}s exceeds the limit of {WHOLE >> 10} KiB"
            raise Trouble("Unreachable", f"{text}: select fewer resources by name or id" if self._asked.where else text)
        if len(self.things) < 2 or self._left >= 0:
            self.things.append(thing)


def find(connection: Connection, asked: Question) -> tuple[Thing, ...]:
    """The results, or the first of very many unless the question needs the whole list. Raises Trouble or Denied."""
    service, path, key, here = WHERE[asked.what]
    where = dict(asked.where)
    mine = {} if "project_id" in where or "id" in where else own(connection, service)
    params = {name: _parameter(name, value) for name, value in where.items() if name not in here}
    if asked.what in NOT_SHARED:
        params |= mine
    first = None if "network_id" in where else mine.get("project_id")  # within one network, the project does not matter
    ours, others = _Few(asked), _Few(asked)
    for raw in pages(connection, service, path, key, params):
        each = thing(asked.what, raw)
        if all(_field(each, name) == where[name] for name in here if name in where):
            (ours if first and raw.get("project_id") == first else others).add(each)
    return tuple(ours.things or others.things)


def own(connection: Connection, service: str) -> dict[str, str]:
    """The filter by the credentials' project. Nova and Cinder need none; empty if the credentials have no project."""
    project = project_of(connection) if service == "network" else ""
    return {"project_id": project} if project else {}


def thing(what: str, raw: Mapping[str, Any]) -> Thing:
    """A result of a search. An availability zone has no id; its name takes the place."""
    facts = {name: raw[name] for name in FACTS if name in raw}
    name = str(raw.get("name") or raw.get("zoneName") or "")
    return Thing(what, str(raw.get("id") or name), name, str(raw.get("status") or ""), facts=facts)


def pages(
    connection: Connection, service: str, path: str, key: str, params: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """All items of a list, page by page. Raises Trouble, also for a list without an end, or Denied."""
    more: dict[str, Any] = {"microversion": COMPUTE} if service == "compute" else {}
    marker: dict[str, Any] = {}
    read, values, items, markers = 0, 0, 0, set()
    for _ in range(PAGES):
        try:
            response = request(connection, service, "GET", path, params={"limit": LIMIT, **params, **marker}, **more)
        except (Trouble, Denied) as error:
            if marker and error.reason in ("NotFound", "BlockedRejected"):  # the service exists
                raise Trouble("Unreachable", f"the list of {key} changed while it was read") from None
            raise
        read += len(response.content)
        values += values_in(response.content)
        if read > LARGEST or values > VALUES:
            raise _endless(key, f"{LARGEST >> 20} MiB or {VALUES} values")
        answer = json_of(response)
        found = things_in(answer, key)
        items += len(found)
        if items > MOST:
            raise _endless(key, f"{MOST} items")
        yield from found
        if len(found) < LIMIT and not _goes_on(answer, key):
            return
        if not found or "id" not in found[-1]:
            return
        last = found[-1]["id"]
        if last in markers:
            raise Trouble("Unreachable", f"the list of {key} repeats a page")
        markers.add(last)
        marker = {"marker": last}
    raise _endless(key, f"{PAGES} pages")


def _goes_on(answer: Mapping[str, Any], key: str) -> bool:
    """Whether a response links to a next page. Neutron links to a previous page even in the first one."""
    links = answer.get(f"{key}_links")
    if isinstance(links, list):
        links = [link for link in links if not (isinstance(link, dict) and link.get("rel") == "previous")]
    return bool(links or answer.get("next"))


def _endless(key: str, most: str) -> Trouble:
    return Trouble("Unreachable", f"the list of {key} exceeds the limit of {most}")


def _parameter(name: str, value: Any) -> Any:
    """The value of a filter: Neutron takes several tags as one comma-separated value, Glance each separately."""
    if isinstance(value, tuple) and name != "tag":
        return ",".join(map(str, value))
    return list(value) if isinstance(value, tuple) else value


def _field(found: Thing, name: str) -> Any:
    return found.name if name == "name" else found.facts.get(name)
