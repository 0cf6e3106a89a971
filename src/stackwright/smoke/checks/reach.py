"""Access from this machine to the virtual one: ping, ssh, and the traffic that security groups drop."""

from __future__ import annotations

from collections.abc import Callable

from stackwright.smoke.checks.basis import ICMP, SSH
from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage, metadata_of, silent
from stackwright.smoke.tenant import Rule

PING_LIMIT = 120
SSH_LIMIT = 180
RULE_LIMIT = 60
Probe = Callable[[], bool]
METADATA = "wget -q -O - http://169.254.169.254/openstack/latest/meta_data.json"


def ping(stage: Stage) -> str:
    address = stage.made.floating

    def missing() -> str | None:
        return None if stage.host.ping(address) else silent(stage.user, stage.made.port)

    _until(stage, f"A ping of {address}", missing, PING_LIMIT)
    return address


def ssh(stage: Stage) -> str:
    login = stage.login
    answers: list[str] = []

    def missing() -> str | None:
        try:
            answers.append(stage.host.ssh(login, "hostname"))
        except Failed as failed:
            return str(failed)
        return None

    _until(stage, f"A login at {login.address}", missing, SSH_LIMIT)
    name = answers[-1].strip()
    if name != stage.name:
        raise Failed(f"The host name of the machine is {name}, not {stage.name} as in its metadata")
    uuid = metadata_of(stage.host.ssh(login, METADATA)).get("uuid")
    if uuid != stage.made.server:
        raise Failed(f"The metadata service returns the server id {uuid}; the machine is {stage.made.server}")
    return f"{login.user}@{login.address}"


def security_groups(stage: Stage) -> str:
    """Remove and restore each rule, while the other rule proves that the machine still responds."""
    address = stage.made.floating

    def pinged() -> bool:
        return stage.host.ping(address)

    def connected() -> bool:
        return stage.host.open(address, 22)

    _taken_away(stage, ICMP, pinged, connected)
    _taken_away(stage, SSH, connected, pinged)
    return "ping and port 22, both ways"


def _taken_away(stage: Stage, rule: Rule, drops: Probe, stays: Probe) -> None:
    api, group = stage.user.networking, stage.made.group
    name = f"port {rule.port}" if rule.port else "ping"
    api.forbid(group, rule)
    try:
        stage.until(f"{name} is closed without its rule", lambda: "it still responds" if drops() else None, RULE_LIMIT)
        if not stays():
            raise Failed(f"Without the rule for {name}, no protocol responds; only {name} should be blocked")
    finally:
        api.allow(group, rule)
    _until(stage, f"{name} is open again", lambda: None if drops() else "no answer", RULE_LIMIT)


def _until(stage: Stage, what: str, missing: Callable[[], str | None], limit: float) -> None:
    try:
        stage.until(what, missing, limit)
    except Failed as failed:
        raise Failed(f"{failed}{stage.agents_down()}{stage.console_tail()}") from None
