"""An index from each account to the objects of one kind that name it. Without it, each object would be compared with
all others.

Watches and `others` fill the index. Each entry is checked against the current object, and dropped if the object was
deleted or names another account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stackwright.api.meta import Kind
from stackwright.core.controller import Lookup
from stackwright.core.objects import is_deleting, key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

Names = Callable[[Object], set[str]]


def order(obj: Object) -> tuple[str, str]:
    """Sort key of objects with the same claim: the first, which is the oldest, owns it."""
    return str(obj["metadata"].get("creationTimestamp") or ""), str(obj["metadata"]["name"])


def owners(objects: Iterable[Object], claims: Names) -> dict[str, Object]:
    """The owner of each claim: the oldest object that has it."""
    found: dict[str, Object] = {}
    for each in sorted(objects, key=order):
        for claim in claims(each):
            found.setdefault(claim, each)
    return found


def taken(obj: Object, others: Iterable[Object], claims: Names) -> str:
    """A message with the claims of an object that an older object owns; empty without any."""
    owner = owners((obj, *others), claims)
    lost = [claim for claim in sorted(claims(obj)) if owner[claim] is not obj]
    if not lost:
        return ""
    other = min((owner[claim] for claim in lost), key=order)
    same = ", ".join(claim for claim in lost if owner[claim] is other)
    name = f"{other['kind']} {other['metadata']['name']}"
    return f"{same} belongs to {name}; choose another name, or delete that object"


class Index:
    """Keys of objects by the names that the objects contain; a name is valid in one namespace."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._of: dict[Key, frozenset[str]] = {}
        self._holders: dict[tuple[str, str], set[Key]] = {}

    def put(self, obj: Object) -> None:
        key, names = key_of(obj), frozenset(self._names(obj))
        if self._of.get(key) != names:
            self.forget(key)
            self._of[key] = names
            for name in names:
                self._holders.setdefault((key[0], name), set()).add(key)

    def forget(self, key: Key) -> None:
        for name in self._of.pop(key, ()):
            holders = self._holders[key[0], name]
            holders.discard(key)
            if not holders:
                del self._holders[key[0], name]

    def names(self, key: Key) -> frozenset[str]:
        return self._of.get(key, frozenset())

    def sharing(self, key: Key, names: Iterable[str]) -> set[Key]:
        """Other objects that have any of these names."""
        return {each for name in names for each in self._holders.get((key[0], name), ())} - {key}


class Claimants:
    """The objects of one kind.

    claims  names of resources that only one object may have
    uses    names of resources that several objects may share
    """

    def __init__(self, kind: Kind, claims: Names, uses: Names = lambda obj: set()) -> None:
        self._kind = kind
        self._claims = Index(claims)
        self._uses = Index(uses)
        self._specs: dict[Key, object] = {}  # as indexed last
        self._listed: set[str] = set()

    async def others(self, reader: Reader, obj: Object) -> tuple[Object, ...]:
        """Objects that claim the same account; for an object in deletion, also those that share its resources."""
        key = key_of(obj)
        if key[0] not in self._listed:
            self._listed.add(key[0])
            for each in await reader.list(self._kind, key[0]):
                self._put(each)
        self._put(obj)
        indexes = (self._claims, self._uses) if is_deleting(obj) else (self._claims,)
        found: dict[Key, Object] = {}
        for index in indexes:
            mine = index.names(key)
            for other in sorted(index.sharing(key, mine)):
                current = await reader.get(self._kind, other)
                if current is None:
                    self.forget(other)
                    continue
                self._put(current)
                if mine & index.names(other):
                    found[other] = current
        return tuple(found.values())

    def waiting(self, obj: Object, lookup: Lookup) -> Iterable[Key]:
        """Younger objects with a claim that the changed object has or had: if it is deleted, the next takes over."""
        key = key_of(obj)
        before = self._claims.names(key)
        self._put(obj)
        held = self._claims.sharing(key, before | self._claims.names(key))
        younger = (each for each in lookup(self._kind, key[0]) if order(each) > order(obj)) if held else ()
        return [key_of(each) for each in younger if key_of(each) in held]

    def forget(self, key: Key) -> None:
        self._specs.pop(key, None)
        self._claims.forget(key)
        self._uses.forget(key)

    def _put(self, obj: Object) -> None:
        key, spec = key_of(obj), obj.get("spec")
        if key not in self._specs or self._specs[key] != spec:
            self._specs[key] = spec
            self._claims.put(obj)
            self._uses.put(obj)
