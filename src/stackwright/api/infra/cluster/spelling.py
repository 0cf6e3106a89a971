"""Fields of an OpenStackCluster that have different names in v1beta1 and v1beta2, and their values under either name.

Each pair begins with the later name. A name with the prefix `disable` has the negated value of the later field.
"""

from __future__ import annotations

from typing import Any

from stackwright.api.rules import Raw, at, has, maybe


def flag(raw: Raw, on: str, off: str) -> bool | None:
    value = at(raw, on)
    if value is None and at(raw, off) is not None:
        return not at(raw, off)
    return value if isinstance(value, bool) else None


def text(raw: Raw, later: str, older: str) -> Any:
    value = at(raw, later)
    return at(raw, older) if value is None else value


def cel_flag(on: str, off: str) -> str:
    """The flag in CEL, as an optional, with X for the object."""
    return f"{maybe(on, 'X')}.or({maybe(off, 'X')}.optMap(v, !v))"


def cel_value(later: str, older: str, nothing: str) -> str:
    return f"{maybe(later, 'X')}.or({maybe(older, 'X')}).orValue({nothing})"


def cel_text(later: str, older: str) -> str:
    """The value in CEL, with a length that CEL can estimate, as required for one side of a comparison."""
    return f"({has(later, 'X')} ? X.{later} : {has(older, 'X')} ? X.{older} : '')"


EXTERNAL = ("enableExternalNetwork", "disableExternalNetwork")
FLOATING = ("apiServer.enableFloatingIP", "disableAPIServerFloatingIP")
SECURITY = ("managedNetwork.enablePortSecurity", "disablePortSecurity")
MTU = ("managedNetwork.mtu", "networkMTU")
ROUTER_IPS = ("managedRouter.externalIPs", "externalRouterIPs")
PORT = ("apiServer.port", "apiServerPort")
FIXED_IP = ("apiServer.fixedIP", "apiServerFixedIP")
FLOATING_IP = ("apiServer.floatingIP", "apiServerFloatingIP")
SPELLINGS = (EXTERNAL, FLOATING, SECURITY, MTU, ROUTER_IPS, PORT, FIXED_IP, FLOATING_IP)


def later_spelling(written: dict[str, Any]) -> dict[str, Any]:
    """A spec with each older field converted to the later one."""
    for later, older in SPELLINGS:
        value = written.pop(older, None)
        if value is None:
            continue
        *where, name = later.split(".")
        inside = written.setdefault(where[0], {}) if where else written
        inside[name] = not value if older.startswith("disable") else value
    return written


HAS_EXTERNAL = f"{cel_flag(*EXTERNAL)}.orValue(true)"
HAS_FLOATING = f"{cel_flag(*FLOATING)}.orValue(true)"


def external(raw: Raw) -> bool:
    return flag(raw, *EXTERNAL) is not False


def floating(raw: Raw) -> bool:
    return flag(raw, *FLOATING) is not False
