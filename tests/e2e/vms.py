"""Virtual machines of the full cloud, as users have them: by its public API, ssh and ping from this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from full import FullCloud
from harness import eventually
from openstack.config import OpenStackConfig
from openstack.connection import Connection
from openstack.exceptions import SDKException

from stackwright.smoke.demo import FLAVOR
from stackwright.smoke.host import RealHost
from stackwright.smoke.ports import Failed, Login
from stackwright.smoke.stage import GUEST_IMAGE, GUEST_USER

DEMO = "demo"  # created by `up`: a server, its network, its key pair
NAME = "stackwright"
BOOT_LIMIT = 300
ANYBODY = ({"protocol": "icmp"}, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22})


@dataclass(frozen=True)
class Vm:
    id: str
    fixed: str
    floating: str
    group: str = ""


class Vms:
    """folder  gets a clouds.yaml and the CA's certificate, by `stackwright openrc`"""

    def __init__(self, cloud: FullCloud, folder: Path) -> None:
        self.clouds, self.ca = folder / "clouds.yaml", folder / "ca.crt"
        words = ("openrc", "--format", "clouds.yaml", "--ca-file", str(self.ca))
        self.clouds.write_text(cloud.stackwright(*words))
        config = OpenStackConfig(config_files=[str(self.clouds)], load_envvars=False)
        self.sdk: Any = Connection(config=config.get_one(NAME))
        self.sdk.session.session.trust_env = False  # no request to the cloud uses a proxy to the internet
        self._host = RealHost(self.ca)
        self._key = cloud.cluster.state / "ssh" / DEMO

    @property
    def demo(self) -> Vm:
        server = self.sdk.compute.find_server(DEMO, ignore_missing=False)
        port = next(self.sdk.network.ports(device_id=server.id))
        ip = next(self.sdk.network.ips(port_id=port.id))
        return Vm(server.id, port.fixed_ips[0]["ip_address"], ip.floating_ip_address)

    def server(self, vm: Vm) -> Any:
        return self.sdk.compute.get_server(vm.id)

    def begin(self, name: str, host: str, **more: Any) -> Vm:
        """A machine on a node, next to `demo` on its network; `reached` waits for it. `more` are options of Nova."""
        net, compute = self.sdk.network, self.sdk.compute
        network = net.find_network(DEMO, ignore_missing=False)
        group = net.create_security_group(name=name)
        for rule in ANYBODY:
            self.rule(group.id, **rule)
        port = net.create_port(name=name, network_id=network.id, security_group_ids=[group.id])
        if "image_id" not in more:
            more["image_id"] = self.sdk.image.find_image(GUEST_IMAGE, ignore_missing=False).id
        server = compute.create_server(
            name=name,
            flavor_id=compute.find_flavor(FLAVOR.name, ignore_missing=False).id,
            key_name=DEMO,
            networks=[{"port": port.id}],
            availability_zone=f"nova:{host}",
            **more,
        )
        external = next(net.networks(is_router_external=True))
        ip = net.create_ip(floating_network_id=external.id, port_id=port.id)
        return Vm(server.id, port.fixed_ips[0]["ip_address"], ip.floating_ip_address, group.id)

    def providers(self) -> set[str]:
        """Ids of Placement's resource providers. Raises if it does not respond."""
        try:
            return {str(provider.id) for provider in self.sdk.placement.resource_providers()}
        except SDKException as failed:
            raise AssertionError(str(failed)) from failed

    def console(self, vm: Vm) -> str:
        return str(self.sdk.compute.get_server_console_output(vm.id).get("output"))

    def rule(self, group: str, direction: str = "ingress", **what: Any) -> str:
        """Create a rule of a security group. Returns its id."""
        made = self.sdk.network.create_security_group_rule(
            security_group_id=group, direction=direction, ether_type="IPv4", **what
        )
        return str(made.id)

    def without(self, group: str, direction: str, protocol: str | None) -> None:
        """Delete the IPv4 rules of a security group with this direction and protocol."""
        for rule in self.sdk.network.security_group_rules(security_group_id=group, direction=direction):
            if rule.protocol == protocol and rule.ether_type == "IPv4":
                self.sdk.network.delete_security_group_rule(rule.id)

    def settled(self, vm: Vm, status: str, limit: float = BOOT_LIMIT) -> None:
        """Wait until a machine has a status and no task is in progress."""

        def check() -> bool:
            server = self.server(vm)
            if server.status == "ERROR" and status != "ERROR":
                raise RuntimeError(f"{server.name} is in status ERROR: {server.fault}")
            return bool(server.status == status and not server.task_state)

        eventually(check, limit=limit, pause=1)

    def reached(self, vm: Vm, limit: float = BOOT_LIMIT) -> None:
        """Wait until a machine is ACTIVE and accepts a login."""
        self.settled(vm, "ACTIVE", limit)
        eventually(lambda: bool(self.ssh(vm, "hostname")), limit=limit, pause=1)

    def ssh(self, vm: Vm, command: str) -> str:
        try:
            return self._host.ssh(Login(vm.floating, GUEST_USER, self._key), command).strip()
        except Failed as failed:
            raise AssertionError(str(failed)) from failed

    def says(self, vm: Vm, question: str) -> bool:
        """Whether a command in a machine succeeds."""
        return self.ssh(vm, f"if {question} > /dev/null 2>&1; then echo yes; else echo no; fi") == "yes"

    def sees(self, one: Vm, other: Vm) -> bool:
        """Whether a machine can ping another one by its fixed address."""
        return self.says(one, f"ping -c 2 -W 2 {other.fixed}")

    def delete(self, vm: Vm) -> None:
        """Deletes the machine and the other resources of `begin`."""
        net = self.sdk.network
        self.sdk.compute.delete_server(vm.id, ignore_missing=True)
        for ip in list(net.ips(floating_ip_address=vm.floating)):
            net.delete_ip(ip)
        eventually(lambda: self.sdk.compute.find_server(vm.id) is None, limit=120, pause=1)
        for port in list(net.ports()):
            if port.security_group_ids == [vm.group]:
                net.delete_port(port)
        net.delete_security_group(vm.group)
