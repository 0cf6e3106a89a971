"""What somebody changed by hand in Neutron or Nova, set back to what the spec says. Pure.

Only what we set at the beginning is compared: what the spec leaves open is not ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.controllers.server.objects import port_body, server_body
from stackwright.core.belongings import Owner
from stackwright.core.clouds import SERVER, CloudCall, Slot, Thing

PORT = ("name", "admin_state_up", "port_security_enabled", "security_groups", "allowed_address_pairs", "tags")
SETS = ("security_groups", "tags")


def corrections(
    owner: Owner, name: str, spec: Mapping[str, Any], resolved: Mapping[str, Any], things: Mapping[Slot, Thing]
) -> Iterator[CloudCall]:
    for port in resolved["ports"]:
        slot: Slot = ("port", str(port["name"]))
        if slot in things and (changed := _differs(port_body(port), things[slot].facts, PORT)):
            yield owner.call("update", slot, id=things[slot].id, body=changed, why="changed by somebody else")
    ids = {slot: thing.id for slot, thing in things.items()}
    wanted = {"metadata": {}, **server_body(name, spec, resolved, ids)}
    server = things[SERVER]
    have = {**server.facts, **({"name": server.name} if server.name else {})}
    if changed := _differs(wanted, have, ("name", "metadata", "tags")):
        yield owner.call("update", SERVER, id=server.id, body=changed, why="changed by somebody else")


def _differs(wanted: Mapping[str, Any], have: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """The wanted values of those fields that both sides have, and that are not equal."""
    return {
        field: wanted[field]
        for field in fields
        if field in wanted and field in have and not _same(field, wanted[field], have[field])
    }


def _same(field: str, wanted: Any, have: Any) -> bool:
    if field in SETS:
        return set(wanted) <= set(have) if field == "tags" else set(wanted) == set(have)
    if field == "metadata":
        return bool(wanted.items() <= have.items())
    if field == "allowed_address_pairs":  # Neutron adds the port's own MAC address
        return [pair["ip_address"] for pair in wanted] == [pair["ip_address"] for pair in have]
    return bool(wanted == have)
