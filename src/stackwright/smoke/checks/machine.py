"""The virtual machine itself: it boots, and its console log contains its address and its key."""

from __future__ import annotations

import re

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage, is_busy
from stackwright.smoke.tenant import Boot

BOOT_LIMIT = 180
GUEST_LIMIT = 180
LEASE = re.compile(r"stackwright-guest: eth0 has ([0-9.]+)/\d+, .*by DHCP")
READY = re.compile(r"stackwright-guest: ready after ([0-9.]+) s; (.+)")


def boot(stage: Stage) -> str:
    made = stage.made
    server = stage.user.computing.boot(Boot(stage.name, made.image, made.tiny, stage.name, made.port))
    made.server = server.id
    try:
        stage.until("ACTIVE", lambda: is_busy(stage.server(), "ACTIVE"), BOOT_LIMIT)
    except Failed as failed:
        raise Failed(f"{failed}{stage.agents_down()}") from None
    details = stage.admin.computing.server(server.id)
    return f"on {details.host}" if details and details.host else ""


def dhcp(stage: Stage) -> str:
    lease = _logged(stage, LEASE, "a DHCP lease")
    if lease[1] != stage.made.address:
        raise Failed(f"The machine received {lease[1]} by DHCP, but the address of its port is {stage.made.address}")
    return lease[1]


def metadata(stage: Stage) -> str:
    ready = _logged(stage, READY, "the end of its boot")
    if "metadata" not in ready[2]:
        raise Failed(
            f"The machine started in {ready[1]} s with {ready[2]}: it received no metadata{stage.agents_down()}"
        )
    return f"ready after {ready[1]} s"


def console(stage: Stage) -> str:
    if not stage.user.computing.log(stage.made.server).strip():
        raise Failed("The console log is empty")
    url = stage.user.computing.console(stage.made.server)
    if not url.startswith("https://"):
        raise Failed(f"The console's address is not public: {url.partition('?')[0]}")
    status = stage.host.page(url)
    if status != 200:
        raise Failed(f"{url.partition('?')[0]}: HTTP {status}")
    greeting = stage.host.websocket(socket_url(url))
    if not greeting.startswith(b"RFB "):
        raise Failed(f"The server behind noVNC does not speak VNC: {greeting[:24]!r}")
    return greeting.decode(errors="replace").strip()


def socket_url(url: str) -> str:
    """The URL to which noVNC's page connects: the path in its parameter `path`, on the page's own host."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(url)
    path = parse_qs(parts.query).get("path", [f"?{parts.query}"])[0]
    return f"wss://{parts.netloc}/{path.lstrip('/')}"


def _logged(stage: Stage, pattern: re.Pattern[str], what: str) -> re.Match[str]:
    found: list[re.Match[str]] = []

    def missing() -> str | None:
        log = stage.user.computing.log(stage.made.server)
        found.extend(pattern.finditer(log))
        return None if found else "not in the console log yet" if log else "the console log is empty"

    try:
        stage.until(f"The console shows {what}", missing, GUEST_LIMIT)
    except Failed as failed:
        raise Failed(f"{failed}{stage.agents_down()}{stage.console_tail()}") from None
    return found[-1]
