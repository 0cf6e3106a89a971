"""Three MariaDB servers of the real image with the chart's own scripts, without Kubernetes.

Each has its own network namespace on a bridge in another one, so that a network can be disconnected, and the other
parts of a pod: namespaces of processes and mounts, the volume, the mounted files of the chart. The machine's network is
not used, and nothing remains.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import yaml
from harness import ROOT, run

from stackwright.local.image import archive, images

CHART = ROOT / "charts/mariadb"
RENDERED = ROOT / "tests/golden/charts/mariadb/three-servers/rendered.yaml"
USER = "42434:42434"
DOMAIN = "mariadb-discovery.test"
PASSWORD = "of-the-test"
# The work of kubelet and containerd for a pod; then the container's program.
POD = """set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
for name in proc dev tmp run/mysqld; do mkdir -p "$ROOT/$name"; done
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o mode=1777 tmp "$ROOT/tmp"
mount -t tmpfs -o mode=0777 run "$ROOT/run/mysqld"
mount --rbind /dev "$ROOT/dev"
mount --bind "$POD/volume" "$ROOT/var/lib/mysql"
mount --bind "$POD/hosts" "$ROOT/etc/hosts"
mount --bind "$COMMON/bin" "$ROOT/opt/stackwright"
mount --bind "$COMMON/etc" "$ROOT/etc/mysql/stackwright"
mount --bind "$COMMON/root" "$ROOT/run/secrets/mariadb-root"
exec chroot --userspec="$USER" "$ROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    POD_NAME="$NAME" POD_IP="$ADDRESS" CLUSTER_SIZE="$SIZE" MALLOC_ARENA_MAX=2 \\
    CLUSTER_DOMAIN="$DOMAIN" STATE_PORT=4569 /opt/stackwright/start.sh
"""


def unpack(folder: Path) -> Path:
    """The root file system of the image."""
    built = images.ensure_all(names=["mariadb"])
    layout, root = folder / "layout", folder / "root"
    root.mkdir()
    archive.join([image.archive for image in built], layout)
    blobs = layout / "blobs/sha256"
    (image,) = json.loads((layout / "index.json").read_text())["manifests"]
    for layer in json.loads((blobs / _hex(image)).read_text())["layers"]:
        blob = blobs / _hex(layer)
        _do("tar", "--extract", "--numeric-owner", f"--file={blob}", f"--directory={root}")
        for mark in list(root.rglob(".wh.*")):
            gone = mark.with_name(mark.name.removeprefix(".wh."))
            mark.unlink()
            shutil.rmtree(gone) if gone.is_dir() and not gone.is_symlink() else gone.unlink(missing_ok=True)
    shutil.rmtree(layout)
    for place in ("var/lib/mysql", "opt/stackwright", "etc/mysql/stackwright", "run/secrets/mariadb-root"):
        (root / place).mkdir(parents=True, exist_ok=True)
    return root


class Galera:
    """folder  for all its files; several hundred MB"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = unpack(folder)
        self._write_common(folder / "common")
        self.net = "swt-galera"  # `up` and `down` unmount namespaces whose name begins with "stackwright-"
        self.servers = [Server(self, ordinal) for ordinal in range(3)]
        self.close()  # leftovers of a killed test
        _do("ip", "netns", "add", self.net)
        _do("ip", "-n", self.net, "link", "add", "lan", "type", "bridge")
        _do("ip", "-n", self.net, "link", "set", "lan", "up")
        for server in self.servers:
            server.plug()

    def _write_common(self, common: Path) -> None:
        """The content of the chart's ConfigMaps and of the Secret."""
        shutil.copytree(CHART / "bin", common / "bin")
        for script in (common / "bin").iterdir():
            script.chmod(0o755)
        maps = [item for item in yaml.safe_load_all(RENDERED.read_text()) if item and item["kind"] == "ConfigMap"]
        text = next(item["data"]["my.cnf"] for item in maps if "my.cnf" in item["data"])
        (common / "etc").mkdir()
        # Small, because three servers share the machine; the last value is used.
        (common / "etc/my.cnf").write_text(f"{text}\n[mysqld]\ninnodb_buffer_pool_size=64M\nmax_connections=50\n")
        (common / "root").mkdir()
        for name, value in {"username": "root", "password": PASSWORD}.items():
            (common / "root" / name).write_text(value)

    def start(self) -> None:
        for server in self.servers:
            server.start()

    def kill(self) -> None:
        """Simulate a power failure."""
        for server in self.servers:
            server.kill()

    def close(self) -> None:
        for server in self.servers:
            server.kill()
            run("ip", "netns", "delete", server.net)
        run("ip", "netns", "delete", self.net)

    def said(self) -> str:
        return "\n".join(f"--- {server.name}\n{server.said()}" for server in self.servers)


class Server:
    """A server with its pod."""

    def __init__(self, cluster: Galera, ordinal: int) -> None:
        self.cluster, self.ordinal = cluster, ordinal
        self.name = f"mariadb-server-{ordinal}"
        self.net, self.port, self.address = f"{cluster.net}-{ordinal}", f"port{ordinal}", f"10.0.0.{ordinal + 1}"
        self.folder = cluster.folder / self.name
        (self.folder / "volume").mkdir(parents=True)
        self.empty()
        hosts = "".join(f"10.0.0.{i + 1} mariadb-server-{i}.{DOMAIN}\n" for i in range(3))
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.folder / "volume/data"

    def plug(self) -> None:
        lan = ("ip", "-n", self.cluster.net, "link")
        _do("ip", "netns", "add", self.net)
        _do(*lan, "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.net)
        _do(*lan, "set", self.port, "master", "lan", "up")
        _do("ip", "-n", self.net, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _do("ip", "-n", self.net, "link", "set", device, "up")

    def cut(self) -> None:
        _do("ip", "-n", self.cluster.net, "link", "set", self.port, "down")

    def mend(self) -> None:
        _do("ip", "-n", self.cluster.net, "link", "set", self.port, "up")

    def start(self, size: int = 3) -> None:
        """size  number of servers in the pod's configuration"""
        env: dict[str, Path | str] = {
            "ROOT": self.cluster.root,
            "POD": self.folder,
            "COMMON": self.cluster.folder / "common",
        }
        env |= {"NAME": self.name, "ADDRESS": self.address, "PATH": os.environ["PATH"], "USER": USER, "DOMAIN": DOMAIN}
        env["SIZE"] = str(size)
        apart = ("unshare", "--mount", "--pid", "--ipc", "--uts", "--fork")
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.net, *apart, "sh", "-c", POD],
                env={name: str(value) for name, value in env.items()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        """Kill all its processes immediately, also those of an earlier run."""
        for pid in self._inside():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        while self._inside():
            time.sleep(0.05)
        self.process = None

    def empty(self) -> None:
        """Replace the volume by a new one."""
        volume = self.folder / "volume"
        shutil.rmtree(volume)
        volume.mkdir()
        os.chown(volume, 42434, 42434)

    def said(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def waits(self) -> str:
        """The reason for which it waits, if that is its last message; otherwise empty."""
        return (self._words() or [""])[-1].partition("waiting: ")[2]

    def ran(self) -> list[str]:
        """Starts of mariadbd in this pod, in order: begin, join."""
        return [word for word in (line.split()[0] for line in self._words()) if word in ("begin", "join")]

    def _words(self) -> list[str]:
        """Messages of start.sh."""
        return [line.partition("[start] ")[2] for line in self.said().splitlines() if "[start] " in line]

    def execute(self, *command: str, limit: float = 30) -> str:
        """The output of a program in the pod; empty if it fails."""
        if not (first := self._first()):
            return ""
        place = ("nsenter", f"--target={first}", "--mount", "--pid", "--net", "chroot", f"--userspec={USER}")
        env = ("/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"POD_NAME={self.name}", "STATE_PORT=4569")
        done = run(*place, self.cluster.root, *env, *command, limit=limit)
        return done.out.strip() if done.code == 0 else ""

    def ready(self) -> bool:
        """Run kubelet's probe; until it has succeeded, start.sh treats the pod as one that never served."""
        return self.execute("bash", "-c", "/opt/stackwright/ready.sh && echo yes") == "yes"

    def sql(self, text: str) -> str:
        return self.execute("mariadb", "--no-defaults", "--socket=/run/mysqld/mysqld.sock", "-NBre", text)

    def primary(self) -> bool:
        return self.execute("/opt/stackwright/state.sh").split()[1:2] == ["primary"]

    def _first(self) -> int:
        """The pid of process 1 of the pod on the machine; 0 if it does not run."""
        if self.process is None or self.process.poll() is not None:
            return 0
        pid = self.process.pid
        return int((Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or ["0"])[0])

    def _inside(self) -> list[str]:
        done = run("ip", "netns", "pids", self.net)
        return done.out.split() if done.code == 0 else []


def _hex(descriptor: dict[str, str]) -> str:
    return descriptor["digest"].removeprefix("sha256:")


def _do(*command: str | Path) -> None:
    done = run(*command)
    assert done.code == 0, f"{' '.join(map(str, command))}: {done.out}"
