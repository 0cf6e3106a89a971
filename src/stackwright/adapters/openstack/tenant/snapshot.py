"""What a project has, as it was a moment ago: lists that all share who have something in it.

Ports and volumes are listed as a whole now and then. Of servers, which take Nova long to tell, it is mostly what
changed: once a minute, or every ten seconds as long as somebody waits for one. He waits for it to be built, so twice a
second the ids of those that are ACTIVE are asked for alone, which is all that there is to know of a server that was
made a moment ago. Our own writes are put in at once, and a list that began before them does not undo them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stackwright.adapters.openstack.tenant import things
from stackwright.adapters.openstack.tenant.confirm import CONFIRM, Doubts
from stackwright.adapters.openstack.tenant.references import own, pages
from stackwright.adapters.openstack.transport.send import key_in, send
from stackwright.adapters.openstack.transport.shapes import thing_in
from stackwright.core.openstack.clouds import Asker, Thing, Trouble

if TYPE_CHECKING:
    from openstack.connection import Connection

_NETWORK = ("admin_state_up", "mtu", "port_security_enabled", "subnets", "tags")
_ROUTER = ("admin_state_up", "external_gateway_info", "tags")
_SUBNET = ("network_id", "cidr", "gateway_ip", "dns_nameservers", "tags")
LISTS: Mapping[str, tuple[str, str, str, Callable[[Mapping[str, Any]], Thing]]] = {
    "server": ("compute", "/servers/detail", "servers", things.server),
    "port": ("network", "/ports", "ports", things.port),
    "trunk": ("network", "/trunks", "trunks", things.plain("trunk", "port_id", "sub_ports", "tags")),
    "volume": ("block_storage", "/volumes/detail", "volumes", things.volume),
    "network": ("network", "/networks", "networks", things.plain("network", *_NETWORK)),
    "subnet": ("network", "/subnets", "subnets", things.plain("subnet", *_SUBNET)),
    "router": ("network", "/routers", "routers", things.plain("router", *_ROUTER)),
    "security-group": ("network", "/security-groups", "security_groups", things.plain("security-group", "tags")),
    "security-group-rule": (
        "network", "/security-group-rules", "security_group_rules",
        things.plain("security-group-rule", "security_group_id"),
    ),
    "floating-ip": (
        "network", "/floatingips", "floatingips",
        things.plain("floating-ip", "floating_ip_address", "port_id", "fixed_ip_address", "tags"),
    ),
}  # fmt: skip
# Seconds that a list may be old for whoever waits, and for whoever does not.
RARELY = (60.0, 180.0)
AGE = {**dict.fromkeys(LISTS, RARELY), "server": (0.5, 50.0), "volume": (2.0, 180.0)}
# Seconds that lists of what changed suffice for: they tell what is gone, and not what somebody detached or tagged.
WHOLE = 180.0
# A list is begun again after so many times as long as it took, for others want the service, too: a whole one makes Nova
# ask Neutron for the groups of all ports. Not so a peek at servers: it is little, and takes long only because it queues
# behind what else Nova is asked.
TIMES = 20.0
SHARE = {**dict.fromkeys(LISTS, TIMES), "server": 1.0, "volume": 3.0}
OVERLAP = 5.0  # clocks and transactions: what changed just before the last look is asked for again
PART = 10.0  # seconds that a peek at which servers are built does instead of a list of what changed
LEAVING = 1.0  # the same while somebody waits for one to go
ABSENT = 60.0  # seconds after which a service that the cloud did not offer is asked for again
KEPT = 3.0  # seconds since the last look for those who wait
ACTIVE, DELETED = "ACTIVE", "DELETED"
SETTLE = 8.0  # what a process asked for before it died, or before it gave up waiting, has happened by then
MISSING = ("trunk", "volume")  # services and extensions that a cloud may not have


@dataclass
class Snapshot:
    """Things of a project; no I/O. Times are those of a monotonic clock."""

    begun: float = 0.0
    things: dict[tuple[str, str], Thing] = field(default_factory=dict)
    taken: dict[str, float] = field(default_factory=dict)  # what → when its last whole list began
    fresh: dict[str, float] = field(default_factory=dict)  # what → when its last list of either kind began
    took: dict[str, float] = field(default_factory=dict)  # what → seconds that its last list took, or peek at servers
    took_whole: float = 0.0  # seconds that the last list of servers took
    took_part: float = 0.0  # the same of those that changed
    peeked: float = 0.0  # when it was last asked which servers are built
    written: dict[tuple[str, str], float] = field(default_factory=dict)
    absent: dict[str, float] = field(default_factory=dict)  # what the cloud does not offer → when it said so
    doubts: Doubts = field(default_factory=Doubts)
    # uid → what has a mark of it; id of a port → floating IPs that are at it
    _owned: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def _put(self, thing: Thing) -> None:
        self._pop((thing.what, thing.id))  # it may have lost its mark
        self.things[thing.what, thing.id] = thing
        self.doubts.seen((thing.what, thing.id))
        for whose in _owners(thing):
            self._owned.setdefault(whose, set()).add((thing.what, thing.id))

    def _pop(self, key: tuple[str, str]) -> None:
        thing = self.things.pop(key, None)
        for whose in _owners(thing) if thing else ():
            self._owned[whose].discard(key)
            if not self._owned[whose]:
                del self._owned[whose]

    def replace(self, what: str, found: Iterable[Thing], began: float) -> set[tuple[str, str]]:
        """A whole list; what changed."""
        listed = {(what, thing.id): thing for thing in found}
        gone = {key for key in self.things if key[0] == what and key not in listed}
        changed = {key for key in gone if self.written.get(key, 0.0) < began}
        stays = {key for key in self.things if key[0] == what and not self._goes(self.things[key])}
        self.doubts.weigh(what, stays - (gone - changed), listed, began)
        self.doubts.single.difference_update(listed)
        self.doubts.gone |= {key for key in changed if self.things[key].state == DELETED}
        for key in changed:
            self._pop(key)
        changed |= self.merge(listed.values(), began)
        self.taken[what] = began
        self.fresh[what] = max(began, self.fresh.get(what, began))
        return changed

    def update(self, what: str, found: Iterable[Thing], began: float) -> set[tuple[str, str]]:
        """A list of what changed, beside which a whole one may be on its way; what changed."""
        changed = self.merge(found, began)
        self.written.update(dict.fromkeys(changed, began))
        self.fresh[what] = max(began, self.fresh[what])
        return changed

    def merge(self, found: Iterable[Thing], began: float) -> set[tuple[str, str]]:
        changed = set()
        for thing in found:
            key = (thing.what, thing.id)
            if self.written.get(key, 0.0) >= began or self.things.get(key) == thing:
                continue
            self._put(thing)
            changed.add(key)
        return changed

    def restore(self, thing: Thing, now: float) -> None:
        """A request for it found what a list lacked."""
        self.write(thing, now)
        self.doubts.single.add((thing.what, thing.id))

    def deleted(self, key: tuple[str, str], now: float) -> None:
        """The cloud deleted it at our request, and with a security group its rules."""
        rules = {k for k, thing in self.things.items() if thing.facts.get("security_group_id") == key[1]}
        for each in {key, *(rules if key[0] == "security-group" else ())}:
            self.drop(each, now)
            self.doubts.gone.add(each)

    def _goes(self, thing: Thing) -> bool:
        """Whether a list without it is as expected: it is on its way out, or what it belongs to has gone."""
        group = thing.facts.get("security_group_id")
        orphan = group is not None and ("security-group", group) not in self.things
        return orphan or _leaving(thing) or thing.state.lower() in ("deleting", "deleted", "soft_deleted")

    def write(self, thing: Thing, now: float) -> None:
        self._put(thing)
        self.written[thing.what, thing.id] = now

    def changed(self, key: tuple[str, str], fields: Mapping[str, Any], now: float) -> None:
        """It was told to have other fields, and answered without saying what it is like now."""
        if thing := self.things.get(key):
            known = {name: value for name, value in fields.items() if name in thing.facts}
            self.write(replace(thing, facts={**thing.facts, **known}), now)

    def leaving(self, key: tuple[str, str], now: float) -> None:
        """It was told to go, which is not to be asked for again."""
        if thing := self.things.get(key):
            self.write(replace(thing, facts={**thing.facts, "task_state": "deleting"}), now)

    def drop(self, key: tuple[str, str], now: float) -> None:
        """With a port, floating IPs let go of it at once."""
        self._pop(key)
        self.written[key] = now
        for address in list(self._owned.get(key[1], ())) if key[0] == "port" else ():
            self.changed(address, {"port_id": None, "fixed_ip_address": None}, now)

    def forget(self, before: float) -> None:
        """Writes that no list can be older than."""
        self.written = {key: when for key, when in self.written.items() if when >= before}

    def due(self, what: str, waits: bool, now: float, settled: float = 0.0) -> bool:
        """A process that has just begun asks for servers only, if nobody waits: one list for all that is well.

        Whoever has to know what is not there needs a list that began when all was settled.
        """
        if now - self.absent.get(what, -1e9) < ABSENT:
            return False
        if self.fresh.get(what, 0.0) < settled <= now:
            return True
        if self.doubtful(what, now):
            return True
        begin = self.begun if what != "server" and not waits else -1e9
        return now - self.seen(what, begin) >= self.age(what, waits)

    def doubtful(self, what: str, now: float) -> bool:
        """Whether its last list lacked many things, and another one is due that confirms it."""
        return what in self.doubts.lists and now - self.taken[what] >= CONFIRM

    def does(self, what: str, settled: float) -> bool:
        """For whoever needs a list that began then or later."""
        return what in self.taken and self.fresh[what] >= settled

    def kept(self, what: str, settled: float, now: float) -> bool:
        """True if the list is fresh and refreshes succeed; otherwise the caller fetches it and gets the error."""
        return self.does(what, settled) and now - self.seen(what) <= KEPT

    def seen(self, what: str, never: float = 0.0) -> float:
        """When it was last asked for, be it by a peek."""
        return max(self.fresh.get(what, never), self.peeked if what == "server" else never)

    def peek(self, active: Iterable[str], began: float) -> set[tuple[str, str]]:
        """Ids of servers that are; what changed. Of one that was not, what else was told before holds no more."""
        known = (self.things.get(("server", id_)) for id_ in active)
        news = [thing for thing in known if thing and thing.state != ACTIVE and not _leaving(thing)]
        changed = self.merge((replace(thing, state=ACTIVE, facts=_lasting(thing)) for thing in news), began)
        self.written.update(dict.fromkeys(changed, began))
        self.peeked = began
        return changed

    def due_part(self, ids: Iterable[tuple[str, str]], now: float) -> bool:
        """Of servers, besides peeks, which tell nothing of one that is going; for who has these."""
        servers = (self.things.get(key) for key in ids if key[0] == "server")
        leaving = any(thing is not None and _leaving(thing) for thing in servers)
        return now - self.fresh["server"] >= max(LEAVING if leaving else PART, self.took_part)

    def age(self, what: str, waits: bool) -> float:
        """Seconds from the beginning of a list to that of the next."""
        return max(AGE[what][0 if waits else 1], SHARE[what] * self.took.get(what, 0.0))

    def ago(self, now: float) -> float:
        """Seconds: which servers changed since then is unknown."""
        return now - self.fresh["server"] + OVERLAP

    def due_whole(self, now: float) -> bool:
        """Of servers, besides lists of what changed."""
        return now - self.taken["server"] >= max(WHOLE, TIMES * self.took_whole)

    def of(self, asker: Asker) -> tuple[Thing, ...]:
        """What it has, and whose ever rules are in its security groups, and floating IPs at its ports."""
        keys = asker.ids | self._owned.get(asker.uid, set())
        keys = keys.union(*(self._owned.get(id_, ()) for what, id_ in keys if what == "port"))
        if groups := {id_ for what, id_ in keys if what == "security-group"}:
            keys |= {key for key, thing in self.things.items() if thing.facts.get("security_group_id") in groups}
        return tuple(self.things[key] for key in sorted(keys) if key in self.things)


def _owners(thing: Thing) -> Iterator[str]:
    """The uid in its mark, and the port that a floating IP is at."""
    if thing.mark:
        yield thing.mark.split(":")[1]
    if thing.what == "floating-ip" and thing.facts.get("port_id"):
        yield thing.facts["port_id"]


def _leaving(thing: Thing) -> bool:
    return bool(thing.facts.get("task_state") == "deleting")


def _lasting(thing: Thing) -> dict[str, Any]:
    """What does not change with a server's state."""
    return {name: thing.facts[name] for name in ("metadata", "tags") if name in thing.facts}


def fetch(connection: Connection, what: str, since: str = "") -> list[Thing]:
    """A list from the cloud, whole or since a time. Raises Trouble or Denied."""
    service, path, key, thing = LISTS[what]
    params = {**own(connection, service), **({"changes-since": since} if since else {})}
    return [thing(raw) for raw in pages(connection, service, path, key, params)]


def single(connection: Connection, what: str, id_: str) -> Thing | None:
    """From the cloud, None if it answers 404. Raises Trouble or Denied."""
    try:
        answer = send(connection, what, "GET", f"/{quote(id_, safe='')}")
    except Trouble as error:
        if error.reason != "NotFound":
            raise
        return None
    return LISTS[what][3](thing_in(answer, key_in(what)))


def peek(connection: Connection, since: str) -> list[str]:
    """Ids of servers that changed since then and are ACTIVE. Raises Trouble or Denied.

    Ids alone take Nova a fraction of the time: to tell more, it asks Neutron for the groups of all their ports.
    """
    params = {"changes-since": since, "status": ACTIVE}
    return [str(raw["id"]) for raw in pages(connection, "compute", "/servers", "servers", params)]


def stamp(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
