"""The checks in the order in which they run. A check is skipped unless the checks that it needs have passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stackwright.api.wording import unknown
from stackwright.smoke.checks import basis, change, machine, reach, secret, stack, zone
from stackwright.smoke.stage import Stage


@dataclass(frozen=True)
class Check:
    """A check. `run` returns a short note on the result, and raises Failed or CloudError.

    service  that it tests, if a cloud may lack it; without it, the check is left out
    """

    name: str
    title: str
    run: Callable[[Stage], str]
    needs: tuple[str, ...] = ()
    service: str = ""


CHECKS = (
    Check("login", "A new user logs in to a new project", basis.login),
    Check("image", "Guest image", basis.image, ("login",)),
    Check("flavors", "Flavors", basis.flavors, ("login",)),
    Check("network", "Network, router, security group, floating IP", basis.network, ("login",)),
    Check("boot", "Virtual machine is ACTIVE", machine.boot, ("image", "flavors", "network")),
    Check("dhcp", "It receives its address by DHCP", machine.dhcp, ("boot",)),
    Check("metadata", "It receives its key by metadata", machine.metadata, ("boot",)),
    Check("ping", "Its floating IP responds to ping", reach.ping, ("boot",)),
    Check("ssh", "ssh logs in with the key", reach.ssh, ("boot",)),
    Check(
        "security-groups", "Security groups drop traffic that no rule allows", reach.security_groups, ("ping", "ssh")
    ),
    Check("console", "Console: its log, and noVNC over TLS", machine.console, ("boot",)),
    Check("reboot", "It reboots", change.reboot, ("ssh",)),
    Check("resize", "It is resized, without volumes", change.resize, ("ssh",)),
    Check("stack", "A stack is created and deleted", stack.stack, ("login",), "orchestration"),
    Check("secret", "A secret is stored and read, and a key generated", secret.secret, ("login",), "key-manager"),
    Check("zone", "A zone and a recordset are published and deleted", zone.zone, ("login",), "dns"),
)


def names() -> list[str]:
    return [check.name for check in CHECKS]


def chosen(wanted: Iterable[str]) -> list[Check]:
    """The named checks (all if none is named) and those that they need. Raises ValueError that lists all names."""
    asked = list(wanted) or names()
    if wrong := sorted(set(asked) - set(names())):
        raise ValueError(unknown("check", wrong, names()))
    found: set[str] = set()
    for check in reversed(CHECKS):
        if check.name in asked or check.name in found:
            found |= {check.name, *check.needs}
    return [check for check in CHECKS if check.name in found]
