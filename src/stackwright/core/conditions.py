"""Conditions as values: builders for the conditions that a controller reports, and their summary `Ready`.

Controllers report Ready and their stages. `with_progress` adds the conditions that kstatus (sigs.k8s.io/cli-utils) also
reads: exactly one of Ready, Reconciling and Stalled is True. Reasons that begin with "Blocked", and those in
ENDED_BY_USER, mean that a user must act; all others resolve by themselves. Messages are stable: `steady` removes parts
that differ between attempts, so an unchanged state causes no write.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.errors import printable, shortened
from stackwright.api.meta import Kind

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
SERVING = "Serving"  # of a provider of accounts: it serves them, although some of its pods may be unready
LONGEST = 4096  # characters of a message
READ = 2 * LONGEST  # characters of the source text: variable parts are removed before it is truncated
DONE = "Done"  # reason of a stage that is true because its actions succeeded
# Reasons without the prefix "Blocked" that also last until a user acts: states that users requested, and errors in an
# OpenStack that persist although the operator still observes it or retries.
REQUESTED = frozenset({"Draft", "Paused"})
ENDED_BY_USER = REQUESTED | {"CredentialsInvalid", "InstanceStateError", "VolumeError"}


# Variable parts in messages of external systems: request ids, memory addresses, timestamps, durations, temporary
# files, source ports of connections, and the back-off of a container's restart.
_VARYING = re.compile(
    r" ?\(?\b(?:x-openstack-)?(?:request[- _]?id)\b\W{0,3}[0-9a-f][0-9a-f-]{7,}\)?"
    r"| ?\(?(?:\brequest[- _]?ids?\b\W{0,3})?\breq-[0-9a-f-]+\)?"
    r"| ?\bat 0x[0-9a-f]+"
    r"|\b\d{4}([-/])\d\d\1\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?"
    r"| ?\b\d+\.\d+ ?(?:ms|µs|s|seconds)\b"
    r"|(?<=/tmp/)[\w.-]+"
    r"|(?<=[\d\]]):\d{4,5}(?=->)"
    r"|(?<=back-off )[\dhms]+ ",
    re.IGNORECASE,
)


def steady(text: str) -> str:
    """A message without variable parts: a changed message would cause a write and wake all watches of the object.

    The result is one line of at most LONGEST characters without control characters, because the text may come from a
    tenant's OpenStack.
    """
    line = printable(" ".join(text[:READ].split()))  # runs of spaces make the pattern slow
    line = " ".join(_VARYING.sub("", line).split())
    return shortened(line, LONGEST)


@dataclass(frozen=True)
class Wait:
    """The objects that a condition waits for. Its message is built from this, and a plan shows each wait once.

    objects  their kinds and names, such as `MariaDB openstack/mariadb`
    gone     whether it waits for their deletion
    """

    objects: str
    gone: bool = False

    def __str__(self) -> str:
        return f"{self.objects} to be deleted" if self.gone else self.objects


@dataclass(frozen=True)
class SameAs:
    """The same wait as that of another object, whose Ready a condition repeats."""

    kind: Kind
    key: tuple[str, str]


@dataclass(frozen=True)
class Condition:
    """waits_for  for plans; not part of the status"""

    type: str
    status: bool | None
    reason: str
    message: str = ""
    waits_for: Wait | SameAs | None = field(default=None, compare=False)

    @property
    def blocked(self) -> bool:
        return self.reason.startswith("Blocked")

    def as_dict(self, generation: int, now: str) -> dict[str, Any]:
        shown = {True: "True", False: "False", None: "Unknown"}[self.status]
        return {
            "type": self.type,
            "status": shown,
            "reason": self.reason,
            "message": steady(self.message),
            "observedGeneration": generation,
            "lastTransitionTime": now,
        }


def done(type_: str, message: str = "", reason: str = DONE) -> Condition:
    return Condition(type_, True, reason, message)


def waiting(type_: str, message: str, reason: str = "Waiting") -> Condition:
    return Condition(type_, False, reason, message)


def waiting_for(type_: str, objects: str, cause: str = "", reason: str = "Waiting", *, gone: bool = False) -> Condition:
    """A condition that waits for objects; `cause` explains the wait."""
    wait = Wait(objects, gone)
    return Condition(type_, False, reason, f"Waiting for {wait}{f': {cause}' if cause else ''}", wait)


def blocked(type_: str, reason: str, message: str) -> Condition:
    """A permanent error: it remains until a user changes the object or the field in the message."""
    return Condition(type_, False, reason if reason.startswith("Blocked") else f"Blocked{reason}", message)


def summary(stages: Iterable[Condition]) -> Condition:
    """Ready for these stages, with the reason and message of the worst stage."""
    worst = min((s for s in stages if s.status is not True), key=_rank, default=None)
    if worst is None:
        return done(READY, "", "Ready")
    return Condition(READY, False, worst.reason, worst.message, worst.waits_for)


def needs_user(reason: str) -> bool:
    """Whether a wait with this reason ends only after a change by a user."""
    return reason.startswith("Blocked") or reason in ENDED_BY_USER


def with_progress(conditions: Sequence[Condition]) -> list[Condition]:
    """The conditions, with Reconciling and Stalled after Ready if it is among them.

    Both are always present, so that clients can wait for False; kstatus ignores a False one.
    """
    result: list[Condition] = []
    for condition in conditions:
        if condition.type in (RECONCILING, STALLED):  # of an earlier report
            continue
        result.append(condition)
        if condition.type == READY:
            stalled = not condition.status and needs_user(condition.reason)
            for type_, applies in ((RECONCILING, not condition.status and not stalled), (STALLED, stalled)):
                result.append(Condition(type_, applies, condition.reason, condition.message if applies else ""))
    return result


def _rank(condition: Condition) -> int:
    """Blocked stages first; otherwise min() keeps the order of the stages."""
    return 0 if condition.blocked else 1


def stamp(now: float) -> str:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(
    wanted: Sequence[Condition], current: Sequence[Mapping[str, Any]], generation: int, now: str
) -> list[dict[str, Any]]:
    """The wanted conditions in API form; lastTransitionTime changes only with the status."""
    before = {entry["type"]: entry for entry in current}
    result = []
    for condition in wanted:
        entry = condition.as_dict(generation, now)
        old = before.get(condition.type)
        if old and old["status"] == entry["status"]:
            entry["lastTransitionTime"] = old.get("lastTransitionTime", now)
        result.append(entry)
    return result


_OF_A_VERSION = ("resourceVersion", "managedFields")


def is_as_before(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two versions of an object are equal except for the status."""
    meta, new = (_without(each["metadata"], *_OF_A_VERSION) for each in (before, now))
    return meta == new and _without(before, "status", "metadata") == _without(now, "status", "metadata")


def is_reworded(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two versions of an object differ in messages of the status, and in nothing else.

    False for versions that look equal: they differ in fields that the cache drops, such as the values of a Secret.
    """
    return (
        before.get("status") != now.get("status")
        and is_as_before(before, now)
        and _says_as_much(before.get("status"), now.get("status"))
    )


def _without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _says_as_much(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            name == "message" or _says_as_much(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_says_as_much, one, other))
    return bool(one == other)


def find(obj: Mapping[str, Any] | None, type_: str = READY) -> Mapping[str, Any] | None:
    """A condition of an object from the API, or None."""
    for entry in ((obj or {}).get("status") or {}).get("conditions") or ():
        if entry.get("type") == type_:
            return dict(entry)
    return None


def is_true(obj: Mapping[str, Any] | None, type_: str = READY) -> bool:
    """Whether a condition of an object from the API, such as a pod or a node, is True. Generations are not compared."""
    return bool((find(obj, type_) or {}).get("status") == "True")


def is_blocked(entry: Mapping[str, Any] | None) -> bool:
    """Whether a condition of an object from the API is an error that lasts until a user acts."""
    reason = str((entry or {}).get("reason", ""))
    return needs_user(reason) and reason not in REQUESTED


def copied(entry: Mapping[str, Any], type_: str = "", waits_for: SameAs | None = None) -> Condition:
    """A condition of an object from the API, as a value for another object or with another type."""
    status = {"True": True, "False": False}.get(entry["status"])
    return Condition(type_ or entry["type"], status, entry.get("reason") or "", entry.get("message") or "", waits_for)


def is_ready(obj: Mapping[str, Any] | None) -> bool:
    """Whether Ready is True for the current generation."""
    entry = find(obj)
    if obj is None or entry is None:
        return False
    return bool(entry["status"] == "True" and entry.get("observedGeneration") == obj["metadata"].get("generation"))


def why_not_ready(obj: Mapping[str, Any] | None) -> str:
    """The message of `Ready`, for controllers that wait for this object."""
    if obj is None:
        return "it does not exist"
    entry = find(obj)
    if entry is None:
        return "the operator has not processed it yet"
    return str(entry.get("message") or entry.get("reason") or "no reason given")


def is_serving(obj: Mapping[str, Any] | None) -> bool:
    """Whether a provider serves its accounts, by its condition Serving, or by Ready if it has none."""
    entry = find(obj, SERVING)
    return is_ready(obj) if entry is None else bool(entry["status"] == "True")


def why_not_serving(obj: Mapping[str, Any] | None) -> str:
    """The message of `Serving`, for objects that wait for this one."""
    entry = find(obj, SERVING)
    return why_not_ready(obj) if entry is None else str(entry.get("message") or "no reason given")


def condition_type(name: str) -> str:
    """The condition type for a name: nova-rabbitmq → NovaRabbitmq."""
    return "".join(part.capitalize() for part in name.split("-"))
