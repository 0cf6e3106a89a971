"""Who reaches the operator's pods, and who reads their metrics, by the values of its chart."""

from __future__ import annotations

import pytest

from tests.golden.operator.test_certificate import rendered

POLICY = "--set=network_policy.enabled=true"
MONITORS = "--api-versions=monitoring.coreos.com/v1"


def of(kind: str, *words: str) -> list[dict]:
    return [obj for obj in rendered(*words) if obj["kind"] == kind]


def test_without_peers_only_the_webhook_is_reached_and_egress_is_open() -> None:
    """The operator has to reach clouds at any address, and its chart does not know those of API servers."""
    [policy] = of("NetworkPolicy", POLICY)
    [pod] = [obj["spec"]["template"] for obj in of("Deployment")]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["spec"]["policyTypes"] == ["Ingress"] and "egress" not in policy["spec"]
    assert policy["spec"]["ingress"] == [{"ports": [{"port": 9443, "protocol": "TCP"}]}]


@pytest.mark.parametrize("mode", ["single", "split"])
def test_peers_reach_the_ports_of_all_containers(mode: str) -> None:
    peer = '[{"ipBlock":{"cidr":"192.0.2.0/24"}}]'
    peers = [f"--set-json=network_policy.peers.{name}={peer}" for name in ("health", "metrics")]
    words = (POLICY, f"--set=controllers.mode={mode}", *peers)
    [policy] = of("NetworkPolicy", *words)
    [pod] = [obj["spec"]["template"]["spec"] for obj in of("Deployment", *words)]
    ports = {port["containerPort"] for container in pod["containers"] for port in container["ports"]}
    allowed = [each["ports"][0] for each in policy["spec"]["ingress"]]
    assert ports == {at for port in allowed for at in range(port["port"], port.get("endPort", port["port"]) + 1)}


def test_an_empty_list_of_egress_permits_nothing() -> None:
    [policy] = of("NetworkPolicy", POLICY, "--set-json=network_policy.egress=[]")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"] and policy["spec"]["egress"] == []


@pytest.mark.parametrize(("value", "installed", "made"), [
    ("auto", False, False), ("auto", True, True), ("true", False, True), ("false", True, False),
])  # fmt: skip
def test_a_pod_monitor_depends_on_the_value_and_on_its_kind(value: str, installed: bool, made: bool) -> None:
    found = of("PodMonitor", f"--set=monitoring.pod_monitor.enabled={value}", *([MONITORS] if installed else []))
    assert bool(found) is made
