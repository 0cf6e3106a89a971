"""Install the distribution's programs that the cluster needs, if they are missing."""

from __future__ import annotations

import shutil
from pathlib import Path

from stackwright.local.commands import LocalError, Report
from stackwright.local.commands import run as execute
from stackwright.local.node.config import CNI_PLUGINS
from stackwright.local.steps.context import Context

TITLE = "System packages"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Package → a file or program that proves its installation, from any source.
PACKAGES = {
    "s6": "s6-svscan",
    "runc": "runc",
    "containernetworking-plugins": str(CNI_PLUGINS / "ptp"),
    "iproute2": "ip",
    "iptables": "iptables",  # for the CNI plug-in for host ports
    "nftables": "nft",
    "conntrack": "conntrack",
    "slirp4netns": "slirp4netns",
    "util-linux": "nsenter",
    "kmod": "modprobe",
    "mount": "mount",
    "mmdebstrap": "mmdebstrap",  # images
    "buildah": "buildah",
    "ca-certificates": "/etc/ssl/certs/ca-certificates.crt",
    "openssh-client": "ssh",  # to log in to virtual machines
}


def missing() -> list[str]:
    return [package for package, sign in PACKAGES.items() if not _present(sign)]


def _present(sign: str) -> bool:
    return Path(sign).exists() if sign.startswith("/") else shutil.which(sign, path=PATH) is not None


def done(ctx: Context) -> bool:
    return not missing()


def run(ctx: Context, report: Report) -> None:
    wanted = missing()
    if shutil.which("apt-get") is None:
        raise LocalError(f"This machine has no apt-get. Install these packages (Debian names): {', '.join(wanted)}")
    report(", ".join(wanted))
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", *wanted]
    try:
        execute(install, limit=600, env=env)
    except LocalError:  # package lists may be missing or old
        report("apt-get update")
        execute(["apt-get", "update"], limit=300, env=env)
        execute(install, limit=900, env=env)
