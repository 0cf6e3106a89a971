"""A controller as a declaration: its kind, further watches, and the functions `observe` and `decide`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.objects import is_deleting
from stackwright.core.pausing import Pause
from stackwright.core.plan import Key, Object, Plan
from stackwright.core.ports import Reader

Lookup = Callable[[Kind, str], list[Object]]  # lists a kind in a namespace from the cache, without an API call
Keys = Callable[[Object, Lookup], Iterable[Key]]
ROLES = ("osdpl", "helmbundle", "health", "secrets", "node", "servers")  # each is a container of the operator if split


@dataclass(frozen=True)
class Watch:
    """Another kind whose changes queue objects of this controller; `keys` maps a changed object to their keys.

    on_message_change  whether changes of messages alone queue objects; False if the other object repeats messages of
                       this one
    """

    kind: Kind
    keys: Keys
    on_message_change: bool = True


@dataclass(frozen=True)
class Controller:
    """name     also the field manager (stackwright-<name>) and a label of its metrics
    role     the container it runs in: one of ROLES; it determines nothing else
    observe  reads only; None when the object is deleted and no work remains
    decide   pure: observation → Plan
    reports  whether this controller may write the object's status; otherwise an Event reports failures
    owns_ready  whether this controller reports Ready of the object; otherwise the conditions of this controller report
             a failed action, and an Event reports an internal error
    finalizes   whether it removes the finalizer of the object: it reports Ready while the object is being deleted,
                another controller before
    pause    what pauses its objects, so that its actions stop; an observation for CLUSTER_API has the cause as `paused`
    urgent   short work that must not wait behind long calls (Helm's take minutes): it has its own workers
    remote   it sends requests to users' OpenStacks, which may take minutes: each namespace has workers for it
    helm     it waits for Helm, which users may keep busy: each namespace has separate workers for it
    forecast whether `plan` runs it; False if it writes only what no plan shows: status, labels of pods, revisions
    """

    name: str
    role: str
    kind: Kind
    watches: tuple[Watch, ...]
    observe: Callable[[Reader, Key, float], Awaitable[Any | None]]
    decide: Callable[[Any], Plan]
    reports: bool = True
    urgent: bool = False
    remote: bool = False
    helm: bool = False
    owns_ready: bool = True
    finalizes: bool = False
    pause: Pause | None = None
    forecast: bool = True

    def owns_ready_of(self, obj: Object) -> bool:
        """Whether this controller reports Ready of this object now."""
        return self.owns_ready or (self.finalizes and is_deleting(obj))

    @property
    def manager(self) -> str:
        return f"stackwright-{self.name}"

    @property
    def fault_manager(self) -> str:
        """Field manager that writes Ready after an internal error, so that all other fields stay unchanged."""
        return f"{self.manager}-fault"


@dataclass(frozen=True)
class ByOwner:
    """Keys of the owners of a kind, from ownerReferences. It is not called for objects without such an owner."""

    kind: str

    def __call__(self, obj: Object, lookup: Lookup) -> Iterable[Key]:
        meta = obj["metadata"]
        return [
            (meta.get("namespace", ""), ref["name"])
            for ref in meta.get("ownerReferences") or ()
            if ref["kind"] == self.kind
        ]


def all_in_namespace(kind: Kind) -> Keys:
    """Keys of every object of a kind in the namespace of the changed one; for kinds with few objects."""

    def keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
        found = lookup(kind, obj["metadata"].get("namespace", ""))  # a cluster-wide object concerns all namespaces
        return [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found]

    return keys
