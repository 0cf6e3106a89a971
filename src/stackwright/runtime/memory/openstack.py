"""An OpenStack in memory: it holds things as Nova, Neutron and Cinder do, refuses what they refuse, and takes its time.

A server is ACTIVE some seconds after it was made, a volume available; what is deleted is gone some seconds later. A
port that a server uses cannot go, nor a network with ports. `fail` maps "<verb> <what>" or "find" or "look" to an
exception; `lose` makes a request succeed although it seems to fail, as a time-out does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stackwright.core.clouds import Asker, CloudCall, CloudRef, Denied, Look, Question, Thing, Trouble, mark
from stackwright.core.plan import Key
from stackwright.core.ports import Clock

BUILD, GO = 8.0, 3.0
Changed = Callable[[str, Key], None]


class MemoryClouds:
    """things  (what, id) → Thing, of one project; foreign ones may be put in and taken out by hand"""

    def __init__(self, clock: Clock, prefix: str = "id") -> None:
        self.things: dict[tuple[str, str], Thing] = {}
        self.calls: list[CloudCall] = []
        self.looks = 0
        self.fail: dict[str, Exception] = {}
        self.lose: set[str] = set()
        self.settled = True
        self._clock = clock
        self._ids = (f"{prefix}-{number}" for number in itertools.count(1))
        self._due: dict[tuple[str, str], tuple[float, str]] = {}  # when it is in which state; "" is gone

    def put(self, what: str, name: str, **facts: Any) -> Thing:
        """Something that is there and not ours."""
        thing = Thing(what, next(self._ids), name, facts=facts)
        self.things[what, thing.id] = thing
        return thing

    def all(self, what: str = "") -> list[Thing]:
        self._pass()
        return [thing for thing in self.things.values() if not what or thing.what == what]

    def remove(self, what: str, id_: str) -> None:
        """By somebody else, whatever holds it."""
        self._due.pop((what, id_), None)
        if (what, id_) in self.things:
            self._gone((what, id_))

    def become(self, thing: Thing, state: str, **facts: Any) -> None:
        """Somebody else, or the cloud, changes it."""
        self._due.pop((thing.what, thing.id), None)
        now = self.things[thing.what, thing.id]
        self.things[thing.what, thing.id] = replace(now, state=state, facts={**now.facts, **facts})

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        self._may("look")
        self.looks += 1
        self._pass()
        own = f":{asker.uid}:"
        found = (t for key, t in self.things.items() if key in asker.ids or own in t.mark)
        return Look(tuple(found), self.settled)

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        self._may("find")
        where = dict(asked.where)
        return tuple(t for t in self.all(asked.what) if all(_has(t, name, value) for name, value in where.items()))

    async def run(self, call: CloudCall) -> str:
        self._pass()
        self.calls.append(call)
        name = f"{call.do} {call.slot[0]}"
        if name in self.lose:
            self.lose.discard(name)
            self._do(call)
            raise Trouble("Unreachable", f"{call}: the answer did not come in time")
        self._may(name)
        return self._do(call)

    def _do(self, call: CloudCall) -> str:
        if call.do == "create":
            return self._create(call)
        key = (call.slot[0], call.id)
        if key not in self.things:
            if call.do == "update":
                raise Trouble("NotFound", f"{call}: there is no {call.slot[0]} {call.id}")
            return call.id
        if call.do == "update":
            self.things[key] = _with(self.things[key], call.body)
        else:
            self._delete(key)
        return call.id

    def _create(self, call: CloudCall) -> str:
        what, body = call.slot[0], dict(call.body)
        for port in body.get("networks") or ():
            if self.things["port", port["port"]].facts.get("device_id"):
                raise Denied("Rejected", f"port {port['port']} is in use")
        made = next(self._ids)
        facts = {**body, **({"status": "DOWN"} if what == "port" else {})}
        self.things[what, made] = Thing(what, made, str(body.get("name") or ""), "", mark(call.uid, call.slot), facts)
        if what in ("server", "volume"):
            self.become(self.things[what, made], "BUILD" if what == "server" else "creating")
            self._due[what, made] = (self._clock.now() + BUILD, "ACTIVE" if what == "server" else "available")
        for port in body.get("networks") or ():
            self.become(self.things["port", port["port"]], "", device_id=made)
        return made

    def _delete(self, key: tuple[str, str]) -> None:
        what, id_ = key
        holders = {"port": ("device_id",), "network": ("network_id",), "subnet": ("subnet_id",)}
        if what == "port" and (device := self.things[key].facts.get("device_id")) and ("server", device) in self.things:
            raise Trouble("Conflict", f"port {id_} is in use by server {device}")
        if what == "port" and any(t.facts.get("port_id") == id_ for t in self.all("trunk")):
            raise Trouble("Conflict", f"port {id_} is the parent of a trunk")
        if what in holders and any(
            t.facts.get(name) == id_ for t in self.all("port") + self.all("subnet") for name in holders[what]
        ):
            raise Trouble("Conflict", f"{what} {id_} has ports")
        if what == "server":
            self.become(self.things[key], self.things[key].state, task_state="deleting")
            self._due[key] = (self._clock.now() + GO, "")
        else:
            self.remove(*key)

    def _pass(self) -> None:
        """What time has done since."""
        for key, (when, state) in list(self._due.items()):
            if when > self._clock.now():
                continue
            del self._due[key]
            if state:
                self.become(self.things[key], state, **_network(self.things[key]))
            else:
                self._gone(key)

    def _gone(self, key: tuple[str, str]) -> None:
        """With the volumes that go with a server; its ports stay, and are free again."""
        server = self.things.pop(key)
        for device in server.facts.get("block_device_mapping_v2") or ():
            if device.get("source_type") == "volume" and device.get("delete_on_termination"):
                self.things.pop(("volume", device["uuid"]), None)
        for port in [t for t in self.things.values() if t.facts.get("device_id") == key[1]]:
            self.become(port, "", device_id="")

    def _may(self, name: str) -> None:
        if name in self.fail:
            raise self.fail[name]


def _network(thing: Thing) -> Mapping[str, Any]:
    if thing.what != "server":
        return {}
    address = {"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed"}
    return {"addresses": {"net": [address]}}


def _has(thing: Thing, name: str, value: Any) -> bool:
    if name == "id":
        return bool(thing.id == value)
    if name == "name":
        return bool(thing.name == value)
    if name in ("tags", "tag"):
        return set(value) <= set(thing.facts.get("tags") or ())
    return bool(thing.facts.get(name) == value)


def _with(thing: Thing, body: Mapping[str, Any]) -> Thing:
    return replace(thing, name=str(body.get("name", thing.name)), facts={**thing.facts, **body})
