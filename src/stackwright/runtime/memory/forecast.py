"""An OpenStack as it would be: the real one is looked at, and every change of it is made here only.

Where the real one cannot be asked from this machine, what is recorded is taken to be there, and a name to mean
something: the forecast then tells what would be made, and not whether the cloud would let it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stackwright.core.clouds import Asker, CloudCall, CloudRef, Clouds, Denied, Look, Question, Thing, Trouble, mark

WELL: Mapping[str, str] = {"server": "ACTIVE", "volume": "available"}


class ForecastClouds:
    """asked  None: no cloud is asked at all"""

    def __init__(self, asked: Clouds | None = None) -> None:
        self._asked = asked
        self._things: dict[tuple[str, str], Thing | None] = {}  # as changed here; None is gone
        self.unheard: dict[CloudRef, str] = {}  # clouds that could not be asked, and why

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        found = {(thing.what, thing.id): thing for thing in await self._real(cloud, asker)}
        own = f":{asker.uid}:"
        for key, thing in self._things.items():
            if thing is None:
                found.pop(key, None)
            elif key in asker.ids or own in thing.mark:
                found[key] = thing
        return Look(tuple(found.values()))

    async def _real(self, cloud: CloudRef, asker: Asker) -> tuple[Thing, ...]:
        if self._asked is not None and cloud not in self.unheard:
            try:
                return (await self._asked.look(cloud, replace(asker, waits=False, begun=False))).things
            except (Trouble, Denied) as error:
                self.unheard[cloud] = str(error)
        return tuple(Thing(what, id_, id_, WELL.get(what, "")) for what, id_ in sorted(asker.ids))

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        if self._asked is not None and cloud not in self.unheard:
            try:
                return await self._asked.find(cloud, asked)
            except (Trouble, Denied) as error:
                self.unheard[cloud] = str(error)
        where: dict[str, Any] = dict(asked.where)
        return (Thing(asked.what, f"(id of {asked})", str(where.get("name") or ""), facts=where),)

    async def run(self, call: CloudCall) -> str:
        what, name = call.slot
        if call.do == "create":
            made = f"(new {f'{what} {name}'.rstrip()})"
            thing = Thing(what, made, str(call.body.get("name") or ""), WELL.get(what, ""), mark(call.uid, call.slot))
            self._things[what, made] = thing
            return made
        self._things[what, call.id] = None if call.do == "delete" else self._things.get((what, call.id))
        if call.do == "update" and self._things[what, call.id] is None:
            del self._things[what, call.id]
        return call.id
