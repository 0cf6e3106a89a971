"""The virtual machine `demo` of `up`: in the administrator's project, with a floating IP and an ssh key.

All resources are found by name, so a second call completes or repairs the first one. A server or key pair with another
key is not ours and stays unchanged. The router is created before the server, because the metadata route in DHCP depends
on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from stackwright.runtime.x509 import ssh_keypair
from stackwright.smoke.ports import Clock, Failed, Host, Login, RealClock, Report, Waiting
from stackwright.smoke.stage import GUEST_IMAGE, GUEST_USER, agents_down, console_tail, is_busy, silent
from stackwright.smoke.tenant import Boot, Flavor, Rule, Server, Tenant

NAME = "demo"
CIDR = "192.168.212.0/24"
FLAVOR = Flavor("m1.tiny_test", 1, 128, 1)
RULES = (Rule("icmp"), Rule("tcp", 22))
BOOT_LIMIT = 240
LOGIN_LIMIT = 240


@dataclass
class Demo:
    """admin  the cloud with the administrator's rights
    guest  provides the file of the guest image
    folder  folder of the ssh key
    """

    admin: Tenant
    host: Host
    guest: Callable[[], Path]
    folder: Path
    report: Report
    clock: Clock = field(default_factory=RealClock)

    def ensure(self) -> tuple[str, str]:
        """Id and floating IP of the machine, once ping and log-in succeed. Raises Failed with the cause."""
        network = self.admin.networking
        external = network.external()
        if external is None:
            raise Failed("The cloud has no external network; spec.features.neutron.floating_network creates one")
        image = self._image()
        self.report("network and router")
        net, subnet = network.network(NAME, CIDR)
        port = network.port(NAME, net, network.group(NAME, RULES))
        network.router(NAME, external, subnet)
        server = self._server(image, port.id)
        address = network.floating(port.id, external)
        self._until("The virtual machine is ACTIVE", lambda: self._not_active(server), BOOT_LIMIT)
        try:
            self._until(f"A ping of {address}", lambda: self._no_ping(address, port.id), LOGIN_LIMIT)
            self._until(f"A login at {address}", lambda: self._no_login(address), LOGIN_LIMIT)
        except Failed as failed:
            raise Failed(f"{failed}{console_tail(self.admin, server)}") from None
        return server, address

    @property
    def key(self) -> Path:
        return self.folder / NAME

    def _image(self) -> str:
        found = self.admin.computing.image(GUEST_IMAGE)
        if found is None:
            self.report("uploading the guest image")
            found = self.admin.computing.upload(GUEST_IMAGE, self.guest(), public=True)
        return found

    def _server(self, image: str, port: str) -> str:
        compute, key = self.admin.computing, self._key_pair()
        there = compute.find(NAME)
        if there is not None and there.key != key:
            raise Failed(
                f"A server `{NAME}` exists that this command did not create: its key pair is not {key}. Rename it, "
                "or delete it; `stackwright up --no-vm` skips this step"
            )
        if there is not None and there.status == "ERROR":
            failed = there.id
            self.report("deleting the failed machine")
            compute.delete(failed)
            self._until("Deletion of the failed machine", lambda: self._still_there(failed), BOOT_LIMIT)
        self.report("booting")
        return compute.boot(Boot(NAME, image, compute.flavor(FLAVOR), key, port)).id

    def _key_pair(self) -> str:
        """The name of our key pair, which identifies our machine. Another key pair may have the usual name."""
        public = self._public_key()
        names = (NAME, f"{NAME}-{sha256(public.encode()).hexdigest()[:8]}")
        for name in names:
            if self.admin.computing.keypair(name, public):
                return name
        raise Failed(f"The key pairs {' and '.join(names)} exist with other keys; delete one of them")

    def _public_key(self) -> str:
        public = self.folder / f"{NAME}.pub"
        if not (self.key.exists() and public.exists()):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.key.unlink(missing_ok=True)
            self.key.touch(mode=0o600)
            private, text = ssh_keypair()
            self.key.write_text(private)
            public.write_text(text)
        return public.read_text()

    def _still_there(self, server: str) -> str | None:
        return "it is being deleted" if self.admin.computing.server(server) else None

    def _not_active(self, id_: str) -> str | None:
        """The cause of the wait for ACTIVE, or None. Starts a machine that is stopped, as after a power failure."""
        server = self.admin.computing.server(id_)
        if server is None:
            raise Failed("The virtual machine was deleted by another client")
        if _is_stopped(server):
            self.admin.computing.start(id_)
        return is_busy(server, "ACTIVE")

    def _no_ping(self, address: str, port: str) -> str | None:
        return None if self.host.ping(address) else silent(self.admin, port)

    def _no_login(self, address: str) -> str | None:
        try:
            name = self.host.ssh(Login(address, GUEST_USER, self.key), "hostname").strip()
        except Failed as failed:
            return str(failed)
        return None if name == NAME else f"the host at {address} is {name}, not {NAME}"

    def _until(self, what: str, missing: Callable[[], str | None], limit: float) -> None:
        try:
            Waiting(self.clock, self.report).until(what, missing, limit)
        except Failed as failed:
            raise Failed(f"{failed}{agents_down(self.admin)}") from None


def _is_stopped(server: Server) -> bool:
    return server.status == "SHUTOFF" and not server.task
