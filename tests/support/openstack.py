"""An OpenStack in memory: it models resources, constraints and delays of Nova, Neutron and Cinder.

A server becomes ACTIVE and a volume available BUILD seconds after creation; a deleted server disappears after GO
seconds. `neutron` defines which resources block deletions. `fail` maps "<verb> <type>", "find" or "look" to an
exception to raise; for names in `lose` the request succeeds but raises an error, like a timeout.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from stackwright.adapters.openstack.tenant.attempts import Attempts
from stackwright.core.openstack.calls import ADD_INTERFACE, ADD_PORT, ADD_VOLUME, CloudCall
from stackwright.core.openstack.clouds import Deferred, Done, Query, Subscription
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import ANSWERED, CREATED, CloudRef, CloudResource, ProjectView, mark
from stackwright.core.plan import Key
from stackwright.core.ports import Clock
from support import neutron

BUILD, GO = 8.0, 3.0


class MemoryClouds:
    """`things` maps (type, id) to the resources of one project; tests may add and remove those of other clients."""

    def __init__(self, clock: Clock) -> None:
        self.things: dict[tuple[str, str], CloudResource] = {}
        self.calls: list[CloudCall] = []
        self.looks = 0
        self.fail: dict[str, Exception] = {}
        self.lose: set[str] = set()
        self.settled = True
        self.place = "project"
        self._clock = clock
        self._attempts = Attempts(clock.now)
        self._ids = (f"00000000-0000-4000-9000-{number:012d}" for number in itertools.count(1))
        self._due: dict[tuple[str, str], tuple[float, str]] = {}  # next transition: time, state; "" removes it

    def put(self, what: str, name: str, **facts: Any) -> CloudResource:
        """Add a resource of another client."""
        thing = CloudResource(what, next(self._ids), name, facts={**TYPES[what].detached, **facts})
        self.things[what, thing.id] = thing
        return thing

    def all(self, what: str = "") -> list[CloudResource]:
        self._pass()
        return [thing for thing in self.things.values() if not what or thing.type == what]

    def remove(self, what: str, id_: str) -> None:
        """Remove a resource as another client does, without checking constraints."""
        self._due.pop((what, id_), None)
        if (what, id_) in self.things:
            self._gone((what, id_))

    def become(self, thing: CloudResource, state: str, **facts: Any) -> None:
        """Change state and facts of a resource, as the cloud or another client does."""
        self._due.pop((thing.type, thing.id), None)
        now = self.things[thing.type, thing.id]
        self.things[thing.type, thing.id] = replace(now, state=state, facts={**now.facts, **facts})

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return self._attempts.look((controller, key))

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        self._may("look")
        self.looks += 1
        self._pass()

    def view(self, subscription: Subscription) -> ProjectView:
        own = f":{subscription.uid}:"
        marked = {key for key, t in self.things.items() if own in t.mark and t.type in subscription.kinds}
        found = {key: t for key, t in self.things.items() if key in subscription.ids or key in marked}
        inside = {key: t for key, t in self.things.items() if _names(t, TYPES[t.type].parent) in found}
        attached = {key: t for key, t in self.things.items() if _names(t, TYPES[t.type].attached) in found}
        return ProjectView(tuple({**found, **inside, **attached}.values()), self.settled, place=self.place)

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        self._may("find")
        where = dict(asked.where)
        return tuple(t for t in self.all(asked.type) if all(_has(t, name, value) for name, value in where.items()))

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        return [await self.find(cloud, each) for each in asked]

    async def submit(self, call: CloudCall) -> Done | Deferred:
        self._pass()
        self.calls.append(call)
        name = f"{call.do} {call.resource_key[0]}"
        if name in self.lose:
            self.lose.discard(name)
            self._do(call)
            raise TransientCloudError(Reason.UNREACHABLE, f"{call}: the answer did not come in time")
        self._may(name)
        id_ = self._do(call)
        if call.do == "create" and TYPES[call.resource_key[0]].copied:
            made = self.things[call.resource_key[0], id_]
            self.things[made.type, id_] = replace(made, facts={**made.facts, ANSWERED: True})
        return Done(id_)

    def _do(self, call: CloudCall) -> str:
        if call.do == "create":
            return self._create(call)
        key = (call.resource_key[0], call.id)
        if key not in self.things:
            if call.do == "update":
                raise TransientCloudError(Reason.NOT_FOUND, f"{call}: there is no {call.resource_key[0]} {call.id}")
            return call.id
        if call.do == "update":
            self._update(self.things[key], call.body, mark(call.uid, call.resource_key))
        else:
            self._delete(key)
        return call.id

    def _create(self, call: CloudCall) -> str:
        what, body = call.resource_key[0], dict(call.body)
        if wrong := neutron.lacking(self.things, what, body):
            raise TransientCloudError(Reason.NOT_FOUND, wrong)
        if what == "security-group-rule" and (same := neutron.same_rule(self.things, body)):
            return same  # as the real adapter does
        for port in body.get("networks") or ():
            if self.things["port", port["port"]].facts.get("device_id"):
                raise TerminalCloudError(Reason.REJECTED, f"port {port['port']} is in use")
        made = next(self._ids)
        facts = {**body, **neutron.facts(self.things, what, body)}
        if what == "port":
            facts["mac_address"] = f"fa:16:3e:{made[-6:-4]}:{made[-4:-2]}:{made[-2:]}"
        facts[CREATED] = self._clock.now()
        if what == "server":
            facts.setdefault("tags", [])
            facts["volumes"] = [each["uuid"] for each in body.get("block_device_mapping_v2") or () if "uuid" in each]
        self.things[what, made] = CloudResource(
            what, made, str(body.get("name") or ""), "", mark(call.uid, call.resource_key), facts
        )
        if built := TYPES[what].built:
            self.become(self.things[what, made], "BUILD" if what == "server" else "creating")
            self._due[what, made] = (self._clock.now() + BUILD, built)
        for port in body.get("networks") or ():
            self.become(self.things["port", port["port"]], "", device_id=made)
        for version in ("IPv4", "IPv6") if what == "security-group" else ():
            self.put("security-group-rule", "", security_group_id=made, direction="egress", ethertype=version)
        return made

    def _update(self, thing: CloudResource, body: Mapping[str, Any], made: str) -> None:
        if port := body.get(ADD_INTERFACE):
            held = self.things["port", port]
            if held.facts.get("device_id") not in (None, "", thing.id):
                raise TransientCloudError(Reason.CONFLICT, f"port {port} is in use")
            self.become(held, "ACTIVE", device_id=thing.id, device_owner=neutron.INTERFACE)
            return
        if port := body.get(ADD_PORT):
            self.become(self.things["port", port], "ACTIVE", device_id=thing.id)
            self.become(thing, thing.state, addresses=self._addresses(thing.id))
            return
        if volume := body.get(ADD_VOLUME):
            self.become(thing, thing.state, volumes=[*thing.facts["volumes"], volume])
            return
        if (port := body.get("port_id")) and (wrong := neutron.unroutable(self.things, port)):
            raise TransientCloudError(Reason.NOT_FOUND, wrong)
        self.things[thing.type, thing.id] = _with(thing, body)
        if TYPES[thing.type].mark == "tags" and "tags" in body:  # the adapter sends them with the mark
            self.things[thing.type, thing.id] = replace(self.things[thing.type, thing.id], mark=made)

    def _delete(self, key: tuple[str, str]) -> None:
        thing = self.things[key]
        if held := neutron.held(self.things, thing):
            raise TransientCloudError(Reason.CONFLICT, f"{thing.type} {thing.id}: {held}")
        if thing.type == "server":
            self.become(thing, thing.state, task_state="deleting")
            self._due[key] = (self._clock.now() + GO, "")
        else:
            self.remove(*key)

    def _pass(self) -> None:
        """Execute the state transitions that are due."""
        for key, (when, state) in list(self._due.items()):
            if when > self._clock.now():
                continue
            del self._due[key]
            if state:
                found = {"addresses": self._addresses(key[1])} if key[0] == "server" else {}
                self.become(self.things[key], state, **found)
            else:
                self._gone(key)

    def _gone(self, key: tuple[str, str]) -> None:
        """Remove a resource, the resources that it contains, and dependent volumes; detach its attached resources."""
        thing = self.things.pop(key)
        for device in thing.facts.get("block_device_mapping_v2") or ():
            if device.get("source_type") == "volume" and device.get("delete_on_termination"):
                self.things.pop(("volume", device["uuid"]), None)
        for other in neutron.contained(self.things, key):
            del self.things[other.type, other.id]
        for other in list(self.things.values()):
            if other.facts.get("device_id") == key[1] or _names(other, TYPES[other.type].attached) == key:
                self.become(other, "", **TYPES[other.type].detached)

    def detach(self, server: CloudResource, other: CloudResource) -> None:
        """Detach a port or a volume from a server, as another client does."""
        if other.type == "port":
            self.become(other, "DOWN", device_id="")
            self.become(server, server.state, addresses=self._addresses(server.id))
        else:
            left = [id_ for id_ in server.facts["volumes"] if id_ != other.id]
            self.become(server, server.state, volumes=left)

    def _addresses(self, server: str) -> dict[str, Any]:
        """Addresses of a server: one per port, regardless of its network."""
        ports = (thing for thing in self.things.values() if thing.facts.get("device_id") == server)
        fixed = {"version": 4, "OS-EXT-IPS:type": "fixed"}
        found = [
            {"addr": f"10.0.0.{5 + n}", "OS-EXT-IPS-MAC:mac_addr": port.facts.get("mac_address"), **fixed}
            for n, port in enumerate(ports)
        ]
        return {"net": found}

    def _may(self, name: str) -> None:
        if name in self.fail:
            raise self.fail[name]


def owned_types() -> list[str]:
    """The types of resources that objects can have."""
    return [what for what, each in TYPES.items() if each.owned]


def _has(thing: CloudResource, name: str, value: Any) -> bool:
    if name == "id":
        return bool(thing.id == value)
    if name == "name":
        return bool(thing.name == value)
    if name in ("tags", "tag"):
        return set(value) <= set(thing.facts.get("tags") or ())
    return bool(thing.facts.get(name) == value)


def _names(thing: CloudResource, relation: tuple[str, str] | None) -> tuple[str, Any] | None:
    """Type and id of the resource to which this one refers by a relation of its type."""
    return (relation[0], thing.facts.get(relation[1])) if relation else None


def _with(thing: CloudResource, body: Mapping[str, Any]) -> CloudResource:
    """The changed resource; a new value of the field with the mark removes the mark."""
    mark = "" if TYPES[thing.type].mark in body else thing.mark
    return replace(thing, name=str(body.get("name", thing.name)), mark=mark, facts={**thing.facts, **body})
