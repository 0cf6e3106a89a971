"""Objects of infrastructure.cluster.x-k8s.io: accepted and rejected ones, and the allowed changes of an update.

A case of WRONG is (kind, spec, field, message); one of CHANGES (kind, fields before, fields after, field, message).
"""

from __future__ import annotations

from typing import Any

from stackwright.api.rules import FIXED
from stackwright.api.support import OFF_ONLY, WRITE_OFF
from support.infra_specs import FIXED_IN_CLUSTER, FIXED_IN_SERVER, ID, IDENTITY, MACHINE, OLDER, OTHER, RULE, SERVER

Spec = dict[str, Any]
CLUSTER: Spec = {"identityRef": IDENTITY}
BASTION: Spec = {"bastion": {"spec": MACHINE, "floatingIP": "192.0.2.1"}}
DISK: Spec = {"name": "root", "sizeGiB": 1, "storage": {"type": "Local"}}
POLICY = {"recreatePolicy": "Always", "credentialsLostPolicy": "Detach"}
LATER: Spec = {
    "managedNetwork": {"mtu": 1400, "enablePortSecurity": False},
    "enableExternalNetwork": True,
    "managedRouter": {"externalIPs": [{"subnet": {"id": ID}}]},
    "apiServer": {"port": 6443, "fixedIP": "10.0.0.5", "floatingIP": "192.0.2.7", "enableFloatingIP": False},
}

FULL: Spec = {
    **SERVER,
    "ports": [
        {
            "network": {"filter": {"name": "n", "tags": ["a"], "notTagsAny": ["b"]}},
            "nameSuffix": "x",
            "trunk": True,
            "fixedIPs": [{"subnet": {"filter": {"cidr": "10.0.0.0/24", "ipVersion": 4}}, "ipAddress": "10.0.0.3"}],
            "allowedAddressPairs": [{"ipAddress": "10.0.0.0/24"}],
            "profile": {"ovsHWOffload": True, "trustedVF": False},
            "valueSpecs": [{"name": "a", "key": "b", "value": "c"}],
            "disablePortSecurity": True,
            "vnicType": "direct",
        },
        {"enablePortSecurity": True, "securityGroups": [{"id": ID}, {"filter": {"name": "g"}}]},
    ],
    "rootVolume": {"sizeGiB": 5, "type": "fast", "availabilityZone": {"name": "z"}},
    "additionalBlockDevices": [
        {"name": "d", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"availabilityZone": {"from": "Machine"}}}}
    ],
    "schedulerHintAdditionalProperties": [
        {"name": "a", "value": {"type": "Bool", "bool": False}},
        {"name": "b", "value": {"type": "Number", "number": 0}},
        {"name": "c", "value": {"type": "String", "string": "x"}},
    ],
    "serverGroup": {"filter": {"name": "g"}},
    "serverMetadata": [{"key": "k", "value": "v"}],
    "tags": ["a"],
    "userDataRef": {"name": "u"},
    "floatingIPPoolRef": {"apiGroup": "g", "kind": "k", "name": "n"},
    **POLICY,
}
CLUSTER_PARTS: Spec = {
    "managedSubnets": [{"cidr": "10.0.0.0/24", "allocationPools": [{"start": "10.0.0.9", "end": "10.0.0.99"}]}],
    "bastion": {**BASTION["bastion"], "availabilityZone": "z"},
    "tags": ["a"],
    "controlPlaneEndpoint": {"host": ""},
    "controlPlaneAvailabilityZones": ["z"],
    "controlPlaneOmitAvailabilityZone": False,
    **POLICY,
}


def hint(value: Spec) -> Spec:
    return {**SERVER, "schedulerHintAdditionalProperties": [{"name": "a", "value": value}]}


def port(**fields: Any) -> Spec:
    return {**SERVER, "ports": [fields]}


HINT = "spec.schedulerHintAdditionalProperties[0].value"
NEEDED = "is required if and only if from is Name, the default"
NO_FLOATING = "must be false (disableAPIServerFloatingIP: true) without an external network"
REMOTES = "at most one of remoteGroupID, remoteIPPrefix, remoteManagedGroups"
WRONG: list[tuple[str, Spec, str, str]] = [
    (
        "OpenStackServer",
        {k: v for k, v in SERVER.items() if k != "flavor"},
        "spec.flavor",
        "write flavor, a name, or flavorID",
    ),
    ("OpenStackServer", {**SERVER, "ports": []}, "spec.ports", "should have at least 1 items"),
    (
        "OpenStackServer",
        {**SERVER, "image": {"id": ID, "filter": {"name": "a"}}},
        "spec.image",
        "must have at most 1 item",
    ),
    ("OpenStackServer", {**SERVER, "image": {"id": "jammy"}}, "spec.image.id", "must be of type uuid"),
    ("OpenStackServer", {**SERVER, "image": {"filter": {}}}, "spec.image.filter", "should have at least 1 properties"),
    ("OpenStackServer", {**SERVER, "tags": ["a", "a"]}, "spec.tags", "duplicate entries"),
    (
        "OpenStackServer",
        {**SERVER, "rootVolume": {"sizeGiB": 1}, "additionalBlockDevices": [DISK]},
        "spec.additionalBlockDevices",
        "a device named root is not allowed together with rootVolume",
    ),
    *(
        (
            "OpenStackServer",
            {**SERVER, "rootVolume": {"sizeGiB": 1, "availabilityZone": zone}},
            "spec.rootVolume.availabilityZone.name",
            NEEDED,
        )
        for zone in ({}, {"from": "Machine", "name": "z"})
    ),
    (
        "OpenStackServer",
        port(disablePortSecurity=True, enablePortSecurity=False),
        "spec.ports[0].enablePortSecurity",
        "set this field or disablePortSecurity, not both",
    ),
    *(
        (
            "OpenStackServer",
            port(**off, securityGroups=[{"id": ID}]),
            "spec.ports[0].securityGroups",
            "must be absent if port security is disabled",
        )
        for off in ({"disablePortSecurity": True}, {"enablePortSecurity": False})
    ),
    (
        "OpenStackServer",
        hint({"type": "Bool"}),
        f"{HINT}.bool",
        "is required if and only if type is Bool",
    ),
    (
        "OpenStackServer",
        hint({"type": "String"}),
        f"{HINT}.string",
        "is required if and only if type is String",
    ),
    (
        "OpenStackServer",
        hint({"type": "Bool", "bool": True, "number": 1}),
        f"{HINT}.number",
        "is required if and only if type is Number",
    ),
    *(
        ("OpenStackCluster", {**CLUSTER, **mtu}, "spec.managedNetwork.mtu", "must be 0 or at least 68")
        for mtu in ({"networkMTU": 67}, {"managedNetwork": {"mtu": 1}})
    ),
    ("OpenStackMachine", {"image": {"id": ID}}, "spec.flavor", "Required value"),
    (
        "OpenStackMachineTemplate",
        {"template": {"spec": {**MACHINE, "providerID": "x"}}},
        "spec.template.spec.providerID",
        "belongs to one machine, not to a template",
    ),
    *(
        (
            "OpenStackCluster",
            {**CLUSTER, **LATER, older: OLDER[older]},
            f"spec.{later}",
            f"set this field or {older}, not both",
        )
        for older, later in (
            ("networkMTU", "managedNetwork.mtu"),
            ("externalRouterIPs", "managedRouter.externalIPs"),
            ("apiServerPort", "apiServer.port"),
            ("apiServerFixedIP", "apiServer.fixedIP"),
            ("apiServerFloatingIP", "apiServer.floatingIP"),
            ("disablePortSecurity", "managedNetwork.enablePortSecurity"),
            ("disableExternalNetwork", "enableExternalNetwork"),
            ("disableAPIServerFloatingIP", "apiServer.enableFloatingIP"),
        )
    ),
    *(
        (
            "OpenStackCluster",
            {**CLUSTER, **BASTION, **external, "disableAPIServerFloatingIP": True},
            "spec.bastion.floatingIP",
            "must be absent without an external network",
        )
        for external in ({"disableExternalNetwork": True}, {"enableExternalNetwork": False})
    ),
    *(
        (
            "OpenStackCluster",
            {**CLUSTER, "disableExternalNetwork": True, **floating},
            "spec.apiServer.enableFloatingIP",
            NO_FLOATING,
        )
        for floating in ({}, {"apiServer": {"enableFloatingIP": True}}, {"disableAPIServerFloatingIP": False})
    ),
    ("OpenStackCluster", {**CLUSTER, "bastion": {}}, "spec.bastion.spec", "is required while the bastion is enabled"),
    (
        "OpenStackCluster",
        {**CLUSTER, "bastion": {"enabled": False, "floatingIP": "x"}},
        "spec.bastion.floatingIP",
        "must be of type ipv4",
    ),
    ("OpenStackCluster", {**CLUSTER, "managedNetwork": {}}, "spec.managedNetwork", "should have at least 1 properties"),
    ("OpenStackCluster", {**CLUSTER, "managedRouter": {}}, "spec.managedRouter.externalIPs", "Required value"),
    (
        "OpenStackCluster",
        {**CLUSTER, "managedSubnets": [{"cidr": "a"}, {"cidr": "b"}]},
        "spec.managedSubnets",
        "must have at most 1 item",
    ),
    (
        "OpenStackCluster",
        {**CLUSTER, "apiServerLoadBalancer": {}},
        "spec.apiServerLoadBalancer",
        WRITE_OFF,
    ),
    (
        "OpenStackCluster",
        {**CLUSTER, "apiServer": {"managedLoadBalancer": {}}},
        "spec.apiServer.managedLoadBalancer",
        WRITE_OFF,
    ),
    (
        "OpenStackCluster",
        {**CLUSTER, "apiServer": {"managedLoadBalancer": {"enabled": True}}},
        "spec.apiServer.managedLoadBalancer.enabled",
        OFF_ONLY,
    ),
    *(
        (
            "OpenStackCluster",
            {**CLUSTER, "managedSecurityGroups": {rules: [{**RULE, "remoteGroupID": "a", "remoteIPPrefix": "::/0"}]}},
            f"spec.managedSecurityGroups.{rules}[0]",
            REMOTES,
        )
        for rules in (
            "allNodesSecurityGroupRules",
            "clusterNodesSecurityGroupRules",
            "controlPlaneNodesSecurityGroupRules",
            "workerNodesSecurityGroupRules",
        )
    ),
    (
        "OpenStackCluster",
        {**CLUSTER, "managedSecurityGroups": {"allNodesSecurityGroupRules": [], "clusterNodesSecurityGroupRules": []}},
        "spec.managedSecurityGroups.clusterNodesSecurityGroupRules",
        "set this field or allNodesSecurityGroupRules, not both",
    ),
    (
        "OpenStackClusterIdentity",
        {
            "secretRef": {"name": "a", "namespace": "b"},
            "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
        },
        "spec.namespaceSelector.matchExpressions[0].values",
        "is required by In and NotIn, and not allowed for other operators",
    ),
]

REGION = "cannot change, be added or be removed; create another object"
ONCE = "cannot change; it can be set once, while the API has no floating IP"
NETWORK = f"{FIXED}. It may become the id in status.network"
SUBNETS = f"{FIXED}. They may become the ids in status.network.subnets"
ADDRESS = "cannot change, except to the address in status.apiServerFloatingIP"
SUBNET: Spec = {"cidr": "10.0.0.0/24", "dnsNameservers": ["192.0.2.53"]}
FOUND: Spec = {
    "network": {"id": ID, "name": "n", "subnets": [{"id": OTHER, "name": "s", "cidr": "10.0.0.0/24"}]},
    "apiServerFloatingIP": {"id": "f", "address": "192.0.2.9"},
}
INSIDE = {"disableAPIServerFloatingIP": True}
CHANGES: list[tuple[str, Spec, Spec, str, str]] = [
    *(("OpenStackServer", {}, {name: value}, f"spec.{name}", FIXED) for name, value in FIXED_IN_SERVER.items()),
    ("OpenStackServer", {}, {"identityRef": {**IDENTITY, "region": "two"}}, "spec.identityRef.region", REGION),
    ("OpenStackServer", {"identityRef": {**IDENTITY, "region": "one"}}, {}, "spec.identityRef.region", REGION),
    ("OpenStackServer", {}, {"ports": [*SERVER["ports"], {}]}, "spec.ports", FIXED),
    ("OpenStackServer", port(disablePortSecurity=True), port(enablePortSecurity=True), "spec.ports", FIXED),
    ("OpenStackServer", port(), port(allowedAddressPairs=[{"ipAddress": "10.0.0.1"}]), "spec.ports", FIXED),
    ("OpenStackMachine", {"ports": [{}]}, {"ports": [{"tags": ["a"]}]}, "spec.ports", FIXED),
    ("OpenStackMachine", {}, {"image": {"id": OTHER}}, "spec.image", FIXED),
    *(
        (
            "OpenStackCluster",
            {"managedSubnets": [SUBNET]},
            {"managedSubnets": subnets} if subnets else {},
            "spec.managedSubnets",
            "cannot change, except dnsNameservers; create another object",
        )
        for subnets in (
            None,
            [{"cidr": "10.1.0.0/24"}],
            [{**SUBNET, "allocationPools": [{"start": "10.0.0.9", "end": "10.0.0.19"}]}],
        )
    ),
    *(("OpenStackCluster", {}, {name: value}, f"spec.{told}", FIXED) for name, value, told in FIXED_IN_CLUSTER),
    ("OpenStackCluster", INSIDE, {**INSIDE, "enableExternalNetwork": False}, "spec.enableExternalNetwork", FIXED),
    ("OpenStackCluster", {}, {"apiServerPort": 1}, "spec.apiServer.port", ONCE),
    ("OpenStackCluster", {**INSIDE, "apiServerPort": 1}, {**INSIDE, "apiServerPort": 2}, "spec.apiServer.port", ONCE),
    ("OpenStackCluster", {}, {"apiServerFixedIP": "10.0.0.8"}, "spec.apiServer.fixedIP", ONCE),
    (
        "OpenStackCluster",
        {**INSIDE, "apiServerFixedIP": "10.0.0.8"},
        {**INSIDE, "apiServerFixedIP": "10.0.0.9"},
        "spec.apiServer.fixedIP",
        ONCE,
    ),
    *(
        (
            "OpenStackCluster",
            {"controlPlaneEndpoint": {"host": "a"}},
            change,
            "spec.controlPlaneEndpoint",
            "cannot change once it has a host",
        )
        for change in ({}, {"controlPlaneEndpoint": {"host": "b"}})
    ),
    ("OpenStackCluster", {"managedSecurityGroups": {}}, {}, "spec.managedSecurityGroups", "cannot be removed"),
    (
        "OpenStackCluster",
        BASTION,
        {},
        "spec.bastion",
        "cannot be removed while it is enabled; set bastion.enabled to false first",
    ),
    ("OpenStackCluster", {"network": {"filter": {"name": "n"}}}, {"network": {"id": OTHER}}, "spec.network", NETWORK),
    ("OpenStackCluster", {"network": {"filter": {"name": "n"}}}, {}, "spec.network", NETWORK),
    ("OpenStackCluster", {"subnets": [{"filter": {"name": "s"}}]}, {"subnets": [{"id": ID}]}, "spec.subnets", SUBNETS),
    ("OpenStackCluster", {}, {"subnets": [{"id": OTHER}]}, "spec.subnets", SUBNETS),
    ("OpenStackCluster", {}, {"apiServerFloatingIP": "192.0.2.1"}, "spec.apiServer.floatingIP", ADDRESS),
    ("OpenStackCluster", {"apiServerFloatingIP": "192.0.2.9"}, {}, "spec.apiServer.floatingIP", ADDRESS),
]
BASES = {"OpenStackServer": SERVER, "OpenStackMachine": MACHINE, "OpenStackCluster": CLUSTER}
FREE: list[tuple[str, Spec, Spec]] = [
    ("OpenStackServer", {}, {"identityRef": {"name": "new", "cloudName": "x", "type": "ClusterIdentity"}, **POLICY}),
    ("OpenStackServer", port(disablePortSecurity=True), port(enablePortSecurity=False)),
    ("OpenStackMachine", {}, {"providerID": "a", "instanceID": "b", "identityRef": IDENTITY, **POLICY}),
    ("OpenStackMachine", {"ports": [{}]}, {"ports": [{"allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}]}),
    ("OpenStackMachine", {}, {"flavor": {"filter": {"name": "m1.small"}}}),
    ("OpenStackCluster", OLDER, LATER),
    ("OpenStackCluster", LATER, OLDER),
    ("OpenStackCluster", {}, {"controlPlaneEndpoint": {"host": "a", "port": 6443}, **POLICY}),
    ("OpenStackCluster", {}, {"identityRef": {**IDENTITY, "name": "new"}, "primarySubnet": {"id": ID}}),
    ("OpenStackCluster", {}, {"controlPlaneAvailabilityZones": ["z"], "controlPlaneOmitAvailabilityZone": True}),
    ("OpenStackCluster", BASTION, {"bastion": {"enabled": False}}),
    ("OpenStackCluster", {"bastion": {"enabled": False}}, {}),
    ("OpenStackCluster", {}, {"managedSecurityGroups": {"workerNodesSecurityGroupRules": [RULE]}}),
    ("OpenStackCluster", {"managedSubnets": [SUBNET]}, {"managedSubnets": [{"cidr": SUBNET["cidr"]}]}),
    ("OpenStackCluster", {}, {"apiServerPort": 0, "apiServerLoadBalancer": {"enabled": False, "provider": "amphora"}}),
    ("OpenStackCluster", {"apiServer": {"port": 0}}, {}),
    ("OpenStackCluster", INSIDE, {**INSIDE, "apiServerPort": 7443, "apiServerFixedIP": "10.0.0.9"}),
    ("OpenStackCluster", {"network": {"filter": {"name": "n"}}}, {"network": {"id": ID}}),
    ("OpenStackCluster", {"subnets": [{"filter": {"name": "s"}}]}, {"subnets": [{"id": OTHER}]}),
    ("OpenStackCluster", {"apiServerFloatingIP": "192.0.2.1"}, {"apiServer": {"floatingIP": "192.0.2.9"}}),
]
