"""Networks, routers, security groups and floating IPs by openstacksdk: smoke.tenant.Networking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stackwright.core.openstack.deployed.agents import Agent
from stackwright.smoke.openstack.api import Api
from stackwright.smoke.openstack.errors import explained
from stackwright.smoke.tenant import Port, Rule


@explained
class NetworkingApi(Api):
    """Searches by name are limited to the user's own project, because an administrator gets those of all projects."""

    service = "network"

    def _mine(self, name: str) -> dict[str, Any]:
        return {"name": name, "project_id": self._connection.current_project_id}

    def external(self) -> str | None:
        found = sorted(self._api.networks(is_router_external=True), key=lambda each: str(each.name))
        return str(found[0].id) if found else None

    def network(self, name: str, cidr: str) -> tuple[str, str]:
        network = next(self._api.networks(**self._mine(name)), None) or self._api.create_network(name=name)
        subnet = next(self._api.subnets(network_id=network.id), None)
        if subnet is None:
            subnet = self._api.create_subnet(network_id=network.id, name=name, ip_version=4, cidr=cidr)
        return str(network.id), str(subnet.id)

    def router(self, name: str, external: str, subnet: str) -> str:
        router = next(self._api.routers(**self._mine(name)), None)
        if router is None:
            router = self._api.create_router(name=name, external_gateway_info={"network_id": external})
        interfaces = self._api.ports(device_id=router.id)
        if subnet not in {str(ip["subnet_id"]) for port in interfaces for ip in port.fixed_ips}:
            self._api.add_interface_to_router(router.id, subnet)
        return str(router.id)

    def group(self, name: str, rules: Iterable[Rule]) -> str:
        group = next(self._api.security_groups(**self._mine(name)), None)
        if group is None:
            group = self._api.create_security_group(name=name, description="Created by stackwright")
        for rule in rules:
            self.allow(str(group.id), rule)
        return str(group.id)

    def allow(self, group: str, rule: Rule) -> None:
        if self._rules(group, rule):
            return
        self._api.create_security_group_rule(
            security_group_id=group,
            direction="ingress",
            ether_type="IPv4",
            protocol=rule.protocol,
            port_range_min=rule.port,
            port_range_max=rule.port,
        )

    def forbid(self, group: str, rule: Rule) -> None:
        for found in self._rules(group, rule):
            self._api.delete_security_group_rule(found.id)

    def _rules(self, group: str, rule: Rule) -> list[Any]:
        found = self._api.security_group_rules(security_group_id=group, direction="ingress", protocol=rule.protocol)
        return [each for each in found if each.port_range_min == rule.port and each.remote_group_id is None]

    def port(self, name: str, network: str, group: str) -> Port:
        port = next(self._api.ports(name=name, network_id=network), None)
        if port is None:
            port = self._api.create_port(name=name, network_id=network, security_group_ids=[group])
        return Port(str(port.id), str(port.fixed_ips[0]["ip_address"]))

    def floating(self, port: str, external: str) -> str:
        found = next(self._api.ips(port_id=port), None)
        if found is None:
            found = self._api.create_ip(floating_network_id=external, port_id=port)
        return str(found.floating_ip_address)

    def unwired(self, port: str) -> str | None:
        found = self._api.get_port(port)
        if found.status != "ACTIVE":
            where = f"on {found.binding_host_id}" if found.binding_host_id else "not on a node yet"
            return f"its port {where} is {found.status}"
        address = next(self._api.ips(port_id=port), None)
        return f"its floating IP is {address.status}" if address and address.status != "ACTIVE" else None

    def agents(self) -> list[Agent]:
        return [
            Agent(
                str(each.agent_type or each.binary), str(each.host), bool(each.is_alive), bool(each.is_admin_state_up)
            )
            for each in self._api.agents()
        ]
