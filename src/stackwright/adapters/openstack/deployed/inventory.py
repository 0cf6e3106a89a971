"""Images of users in a Glance store, volumes of users in a Cinder back end, and uses of agents of nodes.

All requests are sent by openstacksdk in a thread. Threads are not those of other adapters: a large cloud may take long.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.deployed.administrator import connect_as, require_credentials
from stackwright.adapters.openstack.deployed.agents import APIS
from stackwright.adapters.openstack.transport.client import PAGE, message_of, sdk_errors
from stackwright.adapters.openstack.transport.shapes import answering
from stackwright.adapters.threads import LibraryFailed, Workers
from stackwright.core.errors import TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.openstack.deployed.access import Access
from stackwright.core.plan import Inventory

if TYPE_CHECKING:
    from openstack.connection import Connection

RECEIVED = 256 << 20  # bytes of all responses of an inventory; they are read one by one
NAMES = 1_000_000  # bytes of all names in JSON; the ConfigMap of the result takes 1 MiB, with the names of the holders


class CloudContents:
    """core.ports.Contents as the administrator, over the internal endpoints, or the public ones with `ca_file`."""

    def __init__(self, interface: str = "internal", ca_file: str = "") -> None:
        self._interface, self._ca_file = interface, ca_file
        self._workers = Workers()

    async def held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        require_credentials(admin, action.admin_secret)
        try:
            return await self._workers.call(action.key[0], CALL_SECONDS, lambda: self._held(action, admin), RECEIVED)
        except TimeoutError:
            raise _waiting(action, f"it takes longer than {CALL_SECONDS:.0f} s") from None

    def _held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        cloud = connect_as(admin, ca_file=self._ca_file, interface=self._interface)
        try:
            with answering():
                return gathered(action.holders, LISTS[action.service](cloud, action.holders))
        except sdk_errors(LibraryFailed) as error:
            raise _waiting(action, message_of(error)) from None


def _waiting(action: Inventory, why: str) -> TransientError:
    return TransientError(f"Waiting for {action.service} to list its content: {why}")


class PublicContents:
    """core.ports.Contents from outside the cluster. `ask` returns the cloud's access data and is called only when
    needed.
    """

    def __init__(self, ask: Callable[[], Awaitable[Access]]) -> None:
        self._ask = ask

    async def held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        access = await self._ask()
        auth = {**access.auth, "auth_url": access.auth_url, "region_name": access.region}
        with tempfile.NamedTemporaryFile("w", suffix=".crt") as ca:
            ca.write(access.ca)
            ca.flush()
            return await CloudContents("public", ca.name).held(action, auth)


def images(cloud: Connection, lost: Collection[str]) -> Iterable[tuple[str, str]]:
    """(store, image) pairs of the images that no store keeps; an image survives in a store that is not `lost`.

    An image still names a store that was removed earlier, so only stores that Glance has now keep it. By default Glance
    lists neither hidden images nor community images of other projects.
    """
    glance: Any = cloud.image  # of version 2
    kept = {str(store.id) for store in glance.stores()} - set(lost)
    for hidden in (False, True):
        for image in glance.images(visibility="all", is_hidden=hidden):
            # The SDK models one store, for uploads; `stores`, which lists all, is among the properties.
            names = str((image.properties or {}).get("stores", "")).split(",")
            stores = {name.strip() for name in names if name.strip()}
            if not stores & kept:
                yield from ((store, _name(image)) for store in stores)


def volumes(cloud: Connection) -> Iterable[tuple[str, str]]:
    """(back end, volume) pairs; the host of a volume is <service>@<back end>#<pool>."""
    for volume in cloud.block_storage.volumes(details=True, all_projects=True, limit=PAGE):
        _, _, where = str(volume.host or "").partition("@")
        yield where.partition("#")[0], _name(volume)


def _name(thing: Any) -> str:
    return str(thing.name or thing.id)


def gathered(holders: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in holders}
    size = 0
    for holder, thing in pairs:
        if holder in found:
            found[holder].append(thing)
            size += len(json.dumps(thing, ensure_ascii=False).encode(errors="surrogatepass")) + len(", ")
        if size > NAMES:
            raise TransientError(f"The names of what {', '.join(found)} hold exceed {NAMES:,} bytes")
    return {name: sorted(things) for name, things in found.items()}


LISTS: Mapping[str, Callable[[Connection, Collection[str]], Iterable[tuple[str, str]]]] = {
    "image": images,
    "block-storage": lambda cloud, backends: volumes(cloud),
    **{service: api.uses for service, api in APIS.items()},
}
