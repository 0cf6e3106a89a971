"""Changes to a running machine: a reboot and a resize, verified from inside."""

from __future__ import annotations

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage, is_busy

REBOOT_LIMIT = 180
RESIZE_LIMIT = 240
SHELL_LIMIT = 180
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
MEMORY = "awk '/^MemTotal/ { print $2 }' /proc/meminfo"
DISK = "cat /sys/block/vda/size"


def reboot(stage: Stage) -> str:
    """Reboot the machine and wait for a new boot id, which the kernel creates at each start."""
    before = stage.host.ssh(stage.login, BOOT_ID)
    stage.user.computing.reboot(stage.made.server)

    def missing() -> str | None:
        if busy := is_busy(stage.server(), "ACTIVE"):
            return busy
        try:
            return None if stage.host.ssh(stage.login, BOOT_ID) != before else "not restarted yet"
        except Failed as failed:
            return str(failed)

    stage.until("Reboot", missing, REBOOT_LIMIT)
    return ""


def resize(stage: Stage) -> str:
    """Resize to more memory and a larger disk; it depends on the cloud whether the machine changes its node."""
    memory, disk = int(stage.host.ssh(stage.login, MEMORY)), int(stage.host.ssh(stage.login, DISK))
    stage.user.computing.resize(stage.made.server, stage.made.larger)
    _settled(stage, "VERIFY_RESIZE", "Resize")
    stage.user.computing.confirm(stage.made.server)
    _settled(stage, "ACTIVE", "Confirmation of the resize")
    stage.until("A login after the resize", lambda: _unanswered(stage), SHELL_LIMIT)
    larger, wider = int(stage.host.ssh(stage.login, MEMORY)), int(stage.host.ssh(stage.login, DISK))
    if larger <= memory or wider <= disk:
        raise Failed(f"After the resize: {larger} kB of memory ({memory} before), {wider} sectors ({disk} before)")
    return f"{memory // 1024} → {larger // 1024} MiB of memory"


def _settled(stage: Stage, status: str, what: str) -> None:
    try:
        stage.until(what, lambda: _unless_back(stage, status), RESIZE_LIMIT)
    except Failed as failed:
        raise Failed(f"{failed}{stage.agents_down()}") from None


def _unless_back(stage: Stage, status: str) -> str | None:
    """The cause of the wait for a status, or None. Raises Failed if Nova reverted the resize, which gives no error."""
    server = stage.server()
    if status == "VERIFY_RESIZE" and server.status == "ACTIVE" and not server.task:
        raise Failed(
            "Nova reverted the resize, because no node can host the resized machine. A cloud with one node requires "
            "`allow_resize_to_same_host`; `stackwright logs nova` shows details"
        )
    return is_busy(server, status)


def _unanswered(stage: Stage) -> str | None:
    try:
        stage.host.ssh(stage.login, "true")
    except Failed as failed:
        return str(failed)
    return None
