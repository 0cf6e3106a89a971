"""Reverts changes by other clients to our resources, and reports them by an Event. Pure.

Only fields that the create request set are compared. Additions by other clients stay, except rules of a security
group, because these grant access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, Progress
from stackwright.core.openstack.calls import CloudCall, limit_deletions
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource, ProjectView, ResourceKey, marked_by
from stackwright.core.plan import Action, Object, Warn


def corrections(owner: Owner, parts: Iterable[DesiredResource], found: Progress) -> Iterator[CloudCall]:
    """Updates of changed resources. The body of a part uses the recorded ids; the view may lack some resources."""
    for part in parts:
        thing = found.existing.get(part.resource_key)
        if thing is None or not TYPES[part.resource_key[0]].compared:
            continue
        if changed := _differs(part.body(found.record), thing):
            yield owner.call("update", part.resource_key, id=thing.id, body=changed, why="differs from the spec")


def unmanaged_rules(owner: Owner, found: Progress, view: ProjectView) -> Iterator[CloudCall]:
    """Deletions of rules that other clients added to our security groups."""
    ours = {(thing.type, thing.id) for thing in found.existing.values()}
    known = {(what, id_) for (what, _), id_ in found.record.items()}
    for thing in view.things:
        what, field = TYPES[thing.type].parent or ("", "")
        if (what, thing.facts.get(field)) not in ours or (thing.type, thing.id) in known or marked_by(thing, owner.uid):
            continue
        yield owner.call("delete", (thing.type, thing.id), id=thing.id, why="not in the spec")


def with_event(obj: Object, found: Iterable[CloudCall], stage_of: Callable[[ResourceKey], str]) -> tuple[Action, ...]:
    """The calls with the stages that report their failures, and an Event on the object for those calls that one plan
    executes.
    """
    calls = [replace(call, stage=stage_of(call.resource_key)) for call in found]
    if not calls:
        return ()
    what = "; ".join(
        f"{' '.join(filter(None, call.resource_key))} ({', '.join(sorted(call.body)) or 'removed'})"
        for call in limit_deletions(calls)
    )
    return (*calls, Warn(obj, "SetBack", f"Restored the state of the spec: {what}"))


def _differs(wanted: Mapping[str, Any], thing: CloudResource) -> dict[str, Any]:
    """The wanted values of all fields that both `wanted` and the resource have with different values."""
    have = {**thing.facts, **({"name": thing.name} if thing.name else {})}
    return {
        field: sorted({*(have[field] or ()), *wanted[field]}) if field == "tags" else wanted[field]
        for field in TYPES[thing.type].compared
        if field in wanted and field in have and not _same(field, wanted[field], have[field])
    }


def _same(field: str, wanted: Any, have: Any) -> bool:
    if isinstance(wanted, str) and isinstance(have, (bool, int, list)):
        return _converts(wanted, have)
    match field:
        case "tags":
            return set(wanted) <= set(have or ())
        case "security_groups":
            return set(wanted) == set(have)
        case "metadata":
            return bool(wanted.items() <= have.items())
        case "dns_nameservers":
            return list(wanted) == list(have or ())
        case "external_gateway_info":  # Neutron adds the router's external address
            return bool(wanted["network_id"] == (have or {}).get("network_id"))
        case "allowed_address_pairs":  # Neutron sorts them, and adds the port's own MAC address
            return _addresses(wanted) == _addresses(have)
    return bool(wanted == have)


def _converts(text: str, value: bool | int | list[Any]) -> bool:
    """Whether Neutron converts the text of a `valueSpecs` to this value. It converts no text to a list."""
    match value:
        case bool():
            return text.lower() in (("true", "1") if value else ("false", "0"))
        case int():
            return text.strip() == str(value)
    return True


def _addresses(pairs: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(pair["ip_address"] for pair in pairs)
