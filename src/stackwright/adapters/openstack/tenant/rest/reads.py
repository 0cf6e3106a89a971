"""Reads of resources: whole lists and those of changes, page by page, and single ones. All responses are bounded."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stackwright.adapters.openstack.tenant.rest.rest_types import REST, RestFacts, resource_of, send
from stackwright.adapters.openstack.transport.send import request
from stackwright.adapters.openstack.transport.shapes import json_of, project_of, resource_in, resources_in
from stackwright.core.bounds import values_in
from stackwright.core.openstack.errors import ListTooLong, Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource

if TYPE_CHECKING:
    from openstack.connection import Connection

LIMIT = 500  # items per page
# Limits of a whole list. A Neutron port takes 1.2 KiB, a Nova server 3 KiB with 60 values.
LARGEST = 64 << 20  # bytes after decompression
VALUES = 1_500_000  # JSON values; each takes up to 150 bytes in Python
MOST = 25_000  # items
PAGES = 1000
LATEST = 253402300799.0  # the last second of year 9999


def fetch(connection: Connection, what: str, since: str = "") -> list[CloudResource]:
    """Fetch a list, whole or of changes since a time. Raises TransientCloudError or TerminalCloudError."""
    rest = REST[what]
    params = {**project_filter(connection, rest), **({"changes-since": since} if since else {})}
    return [resource_of(what, raw) for raw in pages(connection, rest, params, rest.details)]


def single(connection: Connection, what: str, id_: str) -> CloudResource | None:
    """Fetch one resource; None if the cloud returns 404. Raises TransientCloudError or TerminalCloudError."""
    try:
        answer = send(connection, what, "GET", f"/{quote(id_, safe='')}")
    except TransientCloudError as error:
        if error.cause is not Reason.NOT_FOUND:
            raise
        return None
    return resource_of(what, resource_in(answer, REST[what].key, REST[what].shape))


def peek(connection: Connection, what: str, since: str) -> list[str]:
    """Fetch the ids of resources that changed since then and are built. Raises TransientCloudError or
    TerminalCloudError.

    A list of ids takes a fraction of the time of one with details, for which Nova requests the groups of all ports from
    Neutron.
    """
    params = {"changes-since": since, "status": TYPES[what].built}
    return [str(raw["id"]) for raw in pages(connection, REST[what], params)]


def stamp(seconds: float) -> str:
    """A time in the format of changes-since; the first or last valid time for one outside the range."""
    valid = min(max(0.0, seconds), LATEST)
    return datetime.datetime.fromtimestamp(valid, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def project_filter(connection: Connection, rest: RestFacts) -> dict[str, str]:
    """The filter by the credentials' project, for types that need one; empty if the credentials have no project."""
    project = project_of(connection) if rest.scoped else ""
    return {"project_id": project} if project else {}


def pages(
    connection: Connection, rest: RestFacts, params: Mapping[str, Any], details: str = ""
) -> Iterator[Mapping[str, Any]]:
    """All items of a list, page by page. Raises TransientCloudError, also if it is endless, or TerminalCloudError."""
    key, path = rest.keys, f"{rest.path}{details}"
    more: dict[str, Any] = {"microversion": rest.microversion} if rest.microversion else {}
    marker: dict[str, Any] = {}
    read, values, items, markers = 0, 0, 0, set()
    for _ in range(PAGES):
        try:
            response = request(
                connection, rest.service, "GET", path, params={"limit": LIMIT, **params, **marker}, **more
            )
        except (TransientCloudError, TerminalCloudError) as error:
            if marker and error.cause in (Reason.NOT_FOUND, Reason.REJECTED):  # the service exists
                raise TransientCloudError(Reason.UNREACHABLE, f"the list of {key} changed while it was read") from None
            raise
        read += len(response.content)
        values += values_in(response.content)
        if read > LARGEST or values > VALUES:
            raise _endless(key, f"{LARGEST >> 20} MiB or {VALUES} values")
        answer = json_of(response)
        found = resources_in(answer, key, rest.shape)
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
            raise TransientCloudError(Reason.UNREACHABLE, f"the list of {key} repeats a page")
        markers.add(last)
        marker = {"marker": last}
    raise _endless(key, f"{PAGES} pages")


def _goes_on(answer: Mapping[str, Any], key: str) -> bool:
    """Whether a response links to a next page. Neutron links to a previous page even in the first one."""
    links = answer.get(f"{key}_links")
    if isinstance(links, list):
        links = [link for link in links if not (isinstance(link, dict) and link.get("rel") == "previous")]
    return bool(links or answer.get("next"))


def _endless(key: str, most: str) -> ListTooLong:
    return ListTooLong(Reason.UNREACHABLE, f"the list of {key} exceeds the limit of {most}")
