"""Changes of clusters by other clients are reverted or reported."""

from __future__ import annotations

import time
from collections.abc import Callable

from clusters import CLUSTERS, MACHINES, make_example
from harness import eventually
from infra import Infra
from storage import Storage


def test_changes_by_others_are_reverted_and_deletions_are_reported(member: Infra, storage: Storage) -> None:
    """One test for all changes, because the operator detects them once in three minutes."""
    make_example(member, storage)
    net, compute = member.sdk.network, member.sdk.compute
    status = member.status(CLUSTERS, "shop")
    (subnet,) = status["network"]["subnets"]
    group = status["workerSecurityGroup"]["id"]
    api, machine = status["apiServerFloatingIP"]["id"], member.status(MACHINES, "shop-worker")["instanceID"]
    worker_port = next(net.ports(device_id=member.status(MACHINES, "shop-control-plane")["instanceID"])).id
    name, router_name = status["network"]["name"], status["router"]["name"]
    rules = len(list(net.security_group_rules(security_group_id=group)))

    net.update_network(status["network"]["id"], name="others", is_admin_state_up=False)
    net.update_router(status["router"]["id"], name="others")
    net.update_subnet(subnet["id"], dns_nameservers=["192.0.2.1"])
    net.update_security_group(group, name="others")
    net.update_port(worker_port, name="others")
    net.update_ip(api, port_id=None)
    net.delete_security_group_rule(next(net.security_group_rules(security_group_id=group, direction="ingress")).id)
    added = net.create_security_group_rule(
        security_group_id=group, direction="ingress", ether_type="IPv4", protocol="icmp"
    ).id
    compute.delete_server(machine)

    start = time.monotonic()

    def seen(what: str, check: Callable[[], bool]) -> None:
        eventually(check, limit=330, pause=2)
        print(f"{what}: after {time.monotonic() - start:.0f} s")

    seen("deleted machine", lambda: member.told(MACHINES, "shop-worker") == "BlockedInstanceNotFound")
    assert member.status(MACHINES, "shop-worker")["ready"] is False
    seen("network", lambda: net.get_network(status["network"]["id"]).name == name)
    seen("network that is up", lambda: net.get_network(status["network"]["id"]).is_admin_state_up is True)
    seen("router", lambda: net.get_router(status["router"]["id"]).name == router_name)
    seen("subnet", lambda: net.get_subnet(subnet["id"]).dns_nameservers == ["8.8.8.8"])
    seen("group", lambda: net.get_security_group(group).name == status["workerSecurityGroup"]["name"])
    seen("added rule", lambda: net.find_security_group_rule(added) is None)
    seen("rule", lambda: len(list(net.security_group_rules(security_group_id=group))) == rules)
    seen("floating IP", lambda: bool(net.get_ip(api).port_id))
    seen("port", lambda: net.get_port(worker_port).name != "others")
    member.delete(MACHINES)
    member.delete(CLUSTERS, "shop")
    member.only(set())
