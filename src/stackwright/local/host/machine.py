"""Properties of this machine, for the preflight check, `doctor` and the nodes' configuration. Read-only."""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import config, home, tools
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, network, supervisor

MIN_CORES = 2
MIN_MEMORY_GIB = 8
MIN_DISK_GIB = 20
MIN_DISK_PREPARED_GIB = 3
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Problem:
    """A problem and its remedy."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}\n      → {self.remedy}"


@dataclass(frozen=True)
class Machine:
    """Properties of the machine that affect the configuration."""

    resolv_conf: Path = Path("/etc/resolv.conf")
    may_raise_limits: bool = True  # CAP_SYS_RESOURCE
    runc: Path = Path("/usr/sbin/runc")


def profile() -> Machine:
    runc = shutil.which("runc", path="/usr/local/sbin:/usr/sbin:/usr/bin:/sbin") or "/usr/sbin/runc"
    return Machine(resolv_conf(), _has_capability(CAP_SYS_RESOURCE), Path(runc))


def resolv_conf() -> Path:
    """The resolv.conf for pods: not the stub of systemd-resolved, on a loopback address, but its list of upstreams."""
    full = Path("/run/systemd/resolve/resolv.conf")
    stub = Path("/etc/resolv.conf")
    return full if full.exists() and "127.0.0.53" in stub.read_text(errors="replace") else stub


def _has_capability(number: int) -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def problems(cluster: LocalCluster) -> list[Problem]:
    """All problems of the machine; without root, only that."""
    if os.geteuid() != 0:
        return [
            Problem("The command does not run as root.", "A Kubernetes node requires root: run the command with sudo.")
        ]
    return [
        *_size(cluster),
        *_ports(),
        *_kernel(),
        *_cgroups(),
        *_other_home(cluster),
        *_foreign_home(cluster),
    ]


def _size(cluster: LocalCluster) -> list[Problem]:
    found = []
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if cores < MIN_CORES:
        found.append(Problem(f"Only {cores} processor core.", f"Give the machine {MIN_CORES} or more."))
    if memory < MIN_MEMORY_GIB - 0.5:
        found.append(Problem(f"Only {memory:.1f} GiB of memory.", f"Give the machine {MIN_MEMORY_GIB} GiB or more."))
    prepared = not tools.missing(cluster) and cluster.image_store.is_dir()
    least = MIN_DISK_PREPARED_GIB if prepared else MIN_DISK_GIB
    for place, variable in ((cluster.state, "STACKWRIGHT_HOME"), (cluster.cache, "STACKWRIGHT_CACHE")):
        free = shutil.disk_usage(_existing(place)).free / 2**30
        if free < least:
            what = f"Only {free:.1f} GiB free below {place}; {least} GiB are required."
            found.append(Problem(what, f"Free disk space, or set {variable} to a folder on a larger file system."))
    return found


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _ports() -> list[Problem]:
    wanted = {
        "etcd": config.ETCD_PORT,
        "etcd ": config.ETCD_PORT + 1,
        "kube-controller-manager": config.CONTROLLER_MANAGER_PORT,
        "kube-scheduler": config.SCHEDULER_PORT,
    }
    found = []
    for name, port in wanted.items():
        if _free(port) or cgroups.processes(f"{config.CGROUP}/system/{name.strip()}"):
            continue
        what = f"Port 127.0.0.1:{port} ({name.strip()}) is in use by another program."
        found.append(Problem(what, f"Find that program with `ss -ltnp sport = :{port}` and stop it."))
    return found


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _kernel() -> list[Problem]:
    found = []
    if "\toverlay\n" not in Path("/proc/filesystems").read_text() and not _modprobe("overlay"):
        found.append(Problem("The kernel has no overlayfs.", "Load the module `overlay`, or use another kernel."))
    if config.MACHINE_LINK not in network.links() and shutil.which("ip"):
        found += _kernel_network()
    return found


def _kernel_network() -> list[Problem]:
    """Create a link of each kind and delete it: the only reliable test, as a feature may be built in or a module."""
    from stackwright.local.commands import succeeds

    found = []
    for kind in ("bridge", "veth"):
        if not succeeds(["ip", "link", "add", "sw-probe", "type", kind]):
            found.append(
                Problem(
                    f"The kernel cannot create {kind} links.", f"Load the module `{kind}`, and check CAP_NET_ADMIN."
                )
            )
        succeeds(["ip", "link", "del", "sw-probe"])
    return found


def _modprobe(name: str) -> bool:
    from stackwright.local.commands import succeeds

    return succeeds(["modprobe", name])


def _cgroups() -> list[Problem]:
    if cgroups.unified():
        offered = (cgroups.MOUNT / "cgroup.controllers").read_text().split()
    else:
        offered = [name for top in cgroups.hierarchies() for name in top.name.split(",")]
    absent = [name for name in ("cpu", "cpuset", "memory", "pids") if name not in offered]
    if absent:
        return [
            Problem(
                f"Missing cgroup controllers: {', '.join(absent)}.",
                "Mount them, or enable them on the kernel command line.",
            )
        ]
    top = cgroups.hierarchies()[0]
    if not os.access(top, os.W_OK):
        return [Problem(f"{top} is read-only.", "Run on a machine or in a container with writable cgroups.")]
    return []


def _other_home(cluster: LocalCluster) -> list[Problem]:
    try:
        other = (cluster.run / "home").read_text()
    except OSError:
        return []
    if other == str(cluster.state) or not supervisor.alive(cluster):
        return []
    remedy = f"Use it, or stop it with `STACKWRIGHT_HOME={other} stackwright down`."
    return [Problem(f"Another local cluster, in {other}, is running on this machine.", remedy)]


def _foreign_home(cluster: LocalCluster) -> list[Problem]:
    """Report a home folder with other content: next to it, the cluster's files are hard to remove again."""
    place = home.home(cluster)
    if place.is_ours() or not (others := place.others(but=[cluster.cache])):
        return []
    some = ", ".join(each.name for each in others[:5])
    remedy = f"Set {place.variable} to a folder that is empty or does not exist."
    return [Problem(f"{place.path} is not the folder of a local cluster; it contains: {some}.", remedy)]
