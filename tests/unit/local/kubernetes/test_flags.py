from pathlib import Path

from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import flags

PKI = Path("/s/pki")
NODE = LocalCluster(Path("/s"), Path("/c")).node(2)


def options(argv: list[str]) -> dict[str, str]:
    pairs = (word.removeprefix("--").partition("=") for word in argv[1:])
    return {name: value for name, _, value in pairs}


def test_etcd_is_durable_and_private() -> None:
    given = options(flags.etcd(PKI, Path("/s/etcd"), flags.Endpoints()))
    assert "unsafe-no-fsync" not in given
    assert given["client-cert-auth"] == given["peer-client-cert-auth"] == "true"
    assert given["listen-client-urls"] == "https://127.0.0.1:2379"


def test_the_apiserver_has_its_security_options() -> None:
    given = options(flags.apiserver(PKI, flags.Endpoints()))
    assert given["authorization-mode"] == "Node,RBAC"
    assert given["enable-admission-plugins"] == "NodeRestriction"
    assert given["encryption-provider-config"] == "/s/pki/encryption.yaml"


def test_the_apiserver_reaches_kubelets_and_webhooks_without_dns_and_service_rules() -> None:
    given = options(flags.apiserver(PKI, flags.Endpoints()))
    assert given["kubelet-preferred-address-types"] == "InternalIP"
    assert given["enable-aggregator-routing"] == "true"


def test_a_test_uses_the_same_flags_at_another_place() -> None:
    here, there = flags.Endpoints(), flags.Endpoints("127.0.0.1", 7, 8, 9)
    ours, test = options(flags.apiserver(PKI, here)), options(flags.apiserver(PKI, there))
    assert {name for name in ours if ours[name] != test[name]} == {
        "bind-address",
        "secure-port",
        "advertise-address",
        "etcd-servers",
    }


def test_audit_logs_are_rotated_and_contain_no_bodies() -> None:
    given = options(["x", *flags.audit(Path("/p"), Path("/l"))])
    assert int(given["audit-log-maxsize"]) * (int(given["audit-log-maxbackup"]) + 1) <= 300
    assert "RequestResponse" not in flags.AUDIT_POLICY
    assert "level: Metadata" in flags.AUDIT_POLICY


def test_a_single_control_plane_does_not_elect_itself() -> None:
    for argv in (flags.controller_manager(PKI), flags.scheduler(PKI)):
        assert options(argv)["leader-elect"] == "false"
        assert options(argv)["bind-address"] == "127.0.0.1"


def test_a_kubelet_keeps_everything_below_its_node() -> None:
    given = options(flags.kubelet(PKI, NODE))
    assert given["root-dir"] == "/s/nodes/node2/kubelet"
    assert given["node-ip"] == "10.89.0.12"
