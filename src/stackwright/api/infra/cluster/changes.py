"""Rules for an OpenStackCluster, and for its updates.

The network and all fields that depend on it are immutable, but a value may move to the other name of its field. The
ids that a filter for a network or subnets matched, which are in the status, may replace the filter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stackwright.api.fields.network import gateway_of
from stackwright.api.infra.cluster.spelling import (
    EXTERNAL,
    FIXED_IP,
    FLOATING,
    FLOATING_IP,
    HAS_EXTERNAL,
    HAS_FLOATING,
    MTU,
    PORT,
    ROUTER_IPS,
    SECURITY,
    SPELLINGS,
    cel_flag,
    cel_text,
    cel_value,
    external,
    flag,
    floating,
    text,
)
from stackwright.api.rules import FIXED, Change, Raw, Rule, at, each_index, either, fixed, has, kept, same

RULES: tuple[Rule, ...] = (
    *(either(older, later) for later, older in SPELLINGS),
    Rule(
        MTU[0],
        "must be 0 or at least 68",
        f"[{cel_value(*MTU, '0')}].all(v, v == 0 || v >= 68)".replace("X", "self"),
        lambda raw: text(raw, *MTU) in range(1, 68),
    ),
    Rule(
        "bastion.floatingIP",
        "must be absent without an external network",
        f"{HAS_EXTERNAL} || !self.?bastion.?floatingIP.hasValue()".replace("X", "self"),
        lambda raw: not external(raw) and at(raw, "bastion.floatingIP") is not None,
    ),
    Rule(
        "apiServer.enableFloatingIP",
        "must be false (disableAPIServerFloatingIP: true) without an external network",
        f"{HAS_EXTERNAL} || !{HAS_FLOATING}".replace("X", "self"),
        lambda raw: not external(raw) and floating(raw),
    ),
    # No CEL, as for the addresses of subnets.
    Rule(
        FIXED_IP[0],
        "must not be the gateway of managedSubnets",
        "",
        lambda raw: text(raw, *FIXED_IP) == gateway_of(raw["managedSubnets"][0]["cidr"]),
    ),
)


def _given(raw: Raw, names: tuple[str, str]) -> Any:
    """The value of a field; 0 and an empty text are treated as absent."""
    return text(raw, *names) or None


def _set_once(names: tuple[str, str], nothing: str) -> Change:
    """A field of the API server that may be set later if the API has no floating IP."""
    value = cel_value(*names, nothing)
    known = value if nothing == "0" else cel_text(*names)
    new, old = value.replace("X", "self"), known.replace("X", "oldSelf")
    return Change(
        names[0],
        "cannot change; it can be set once, while the API has no floating IP",
        f"{new} == {old} || ({value.replace('X', 'oldSelf')} == {nothing} && !{HAS_FLOATING.replace('X', 'oldSelf')})",
        lambda old, new: _given(old, names) != _given(new, names) and (_given(old, names) is not None or floating(old)),
    )


def _subnets(raw: Raw) -> list[Any]:
    return [(subnet.get("cidr"), subnet.get("allocationPools") or []) for subnet in raw.get("managedSubnets") or []]


def _router_ips() -> Change:
    """The rule for the router's external IPs.

    CEL gives the lists of both spellings different types, and Kubernetes 1.32 cannot estimate the cost of a comparison
    without types. So if an update changes the spelling, CEL compares the lengths only, and the webhook the content.
    """
    later, older = ROUTER_IPS
    cases = [f"{has(each)} && {has(each, 'oldSelf')} ? self.{each} == oldSelf.{each} : " for each in ROUTER_IPS]
    new, old = (
        f"({has(later, of)} ? {of}.{later}.size() : {has(older, of)} ? {of}.{older}.size() : 0)"
        for of in ("self", "oldSelf")
    )
    return Change(
        later,
        FIXED,
        f"{''.join(cases)}{new} == {old}",
        lambda old, new: (text(old, *ROUTER_IPS) or []) != (text(new, *ROUTER_IPS) or []),
    )


CHANGES: tuple[Change, ...] = (
    Change(
        "managedSubnets",
        "cannot change, except dnsNameservers; create another object",
        "has(self.managedSubnets) == has(oldSelf.managedSubnets) && (!has(self.managedSubnets) || "
        "self.managedSubnets.size() == oldSelf.managedSubnets.size() && self.managedSubnets.all(s, "
        f"oldSelf.managedSubnets.exists(o, o.cidr == s.cidr && {same('allocationPools', 's', 'o')})))",
        lambda old, new: _subnets(old) != _subnets(new),
    ),
    *map(fixed, ("router", "externalNetwork", "tags")),
    _router_ips(),
    kept(MTU[0], cel_value(*MTU, "0"), lambda raw: text(raw, *MTU) or 0),
    kept(SECURITY[0], f"{cel_flag(*SECURITY)}.optMap(v, v ? 1 : 2).orValue(0)", lambda raw: flag(raw, *SECURITY)),
    kept(EXTERNAL[0], HAS_EXTERNAL, external),
    kept(FLOATING[0], HAS_FLOATING, floating),
    _set_once(PORT, "0"),
    _set_once(FIXED_IP, "''"),
    Change(
        "controlPlaneEndpoint",
        "cannot change once it has a host",
        "!(has(oldSelf.controlPlaneEndpoint) && oldSelf.controlPlaneEndpoint.?host.orValue('') != '') || "
        "has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint",
        lambda old, new: (
            bool(at(old, "controlPlaneEndpoint.host"))
            and old["controlPlaneEndpoint"] != new.get("controlPlaneEndpoint")
        ),
    ),
    Change(
        "managedSecurityGroups",
        "cannot be removed",
        "!has(oldSelf.managedSecurityGroups) || has(self.managedSecurityGroups)",
        lambda old, new: at(old, "managedSecurityGroups") is not None and at(new, "managedSecurityGroups") is None,
    ),
    Change(
        "bastion",
        "cannot be removed while it is enabled; set bastion.enabled to false first",
        "has(self.bastion) || !has(oldSelf.bastion) || !oldSelf.bastion.enabled",
        lambda old, new: (
            at(new, "bastion") is None and at(old, "bastion") is not None and at(old, "bastion.enabled") is not False
        ),
    ),
)


def _network(old: Raw) -> Any:
    id_ = at(old, "status.network.id")
    return {"id": id_} if id_ else None


def _found_subnets(old: Raw) -> Any:
    return [{"id": each.get("id")} for each in at(old, "status.network.subnets") or []] or None


def _pinned(field: str, message: str, cel: str, found: Callable[[Raw], Any]) -> Change:
    """An immutable filter that may be replaced by its matches: `found` reads them from the status of the old object."""

    def refused(old: Raw, new: Raw) -> bool:
        before, after = at(old, field) or None, at(new, field) or None
        return before != after and (before is None or after is None or after != found(old))

    name = field.removeprefix("spec.")
    return Change(field, message, f"{same(name, 'self.spec', 'oldSelf.spec')} || {cel}", refused)


def _floating_ip(old: Raw, new: Raw) -> bool:
    before, after = (text(raw.get("spec") or {}, *FLOATING_IP) for raw in (old, new))
    return before != after and (after is None or after != at(old, "status.apiServerFloatingIP.address"))


_NEW = cel_value(*FLOATING_IP, "''").replace("X", "self.spec")
_OLD = cel_text(*FLOATING_IP).replace("X", "oldSelf.spec")

# These rules also read the status, so they apply to the whole object.
WHOLE: tuple[Change, ...] = (
    _pinned(
        "spec.network",
        f"{FIXED}. It may become the id in status.network",
        "has(self.spec.network) && has(self.spec.network.id) && has(oldSelf.spec.network) && "
        "oldSelf.?status.?network.?id.hasValue() && self.spec.network.id == oldSelf.status.network.id",
        _network,
    ),
    _pinned(
        "spec.subnets",
        f"{FIXED}. They may become the ids in status.network.subnets",
        "has(self.spec.subnets) && has(oldSelf.spec.subnets) && oldSelf.?status.?network.?subnets.hasValue() "
        "&& self.spec.subnets.size() == oldSelf.status.network.subnets.size() "
        "&& "
        + each_index(
            "self.spec.subnets",
            16,
            "has(self.spec.subnets[i].id) && self.spec.subnets[i].id == oldSelf.status.network.subnets[i].id",
        ),
        _found_subnets,
    ),
    Change(
        f"spec.{FLOATING_IP[0]}",
        "cannot change, except to the address in status.apiServerFloatingIP",
        f"{_NEW} == {_OLD} || "
        f"(oldSelf.?status.?apiServerFloatingIP.hasValue() && {_NEW} == oldSelf.status.apiServerFloatingIP.address)",
        _floating_ip,
    ),
)
