"""Any spec that is valid, of the kinds that have something in an OpenStack: raw, as users write it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

ID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
Raw = dict[str, Any]
Raws = st.SearchStrategy[Raw]
FLAG = st.booleans()
REF: Raws = st.sampled_from([{"id": ID}, {"filter": {"name": "a"}}, {"filter": {"tags": ["a"], "notTags": ["b"]}}])
TAGS = st.lists(st.sampled_from("abc"), unique=True, max_size=2)
IDENTITY: Raws = st.sampled_from(
    [
        {"name": "clouds", "cloudName": "mine"},
        {"name": "shared", "cloudName": "mine", "type": "ClusterIdentity", "region": "east"},
    ]
)
RECREATE = st.sampled_from(["Never", "Always"])
CREDENTIALS = st.sampled_from(["Wait", "Detach", "Orphan"])
ADDRESS = st.sampled_from(["192.0.2.1", "192.0.2.2", "198.51.100.7"])


def some(needed: dict[str, Any] | None = None, **more: Any) -> Raws:
    """The required fields, and any of the others."""
    return st.fixed_dictionaries(needed or {}, optional=more)


def several(of: Any, by: str = "", most: int = 2) -> Any:
    return st.lists(of, max_size=most, unique_by=(lambda each: each[by]) if by else None)


def _secured(port: Raw) -> Raw:
    off = port.get("enablePortSecurity") is False or port.get("disablePortSecurity") is True
    return {name: value for name, value in port.items() if not (off and name == "securityGroups")}


PORT: Raws = some(
    network=REF,
    fixedIPs=several(some(subnet=REF, ipAddress=st.just("10.6.0.9"))),
    securityGroups=several(REF),
    trunk=FLAG,
    allowedAddressPairs=several(some({"ipAddress": st.just("10.0.0.0/8")}, macAddress=st.just("fa:16:3e:00:00:01"))),
    tags=TAGS,
    nameSuffix=st.sampled_from(["a", "0", "1"]),
    description=st.just("text"),
    adminStateUp=FLAG,
    macAddress=st.just("fa:16:3e:00:00:02"),
    vnicType=st.just("direct"),
    hostID=st.just("node"),
    profile=some(ovsHWOffload=FLAG, trustedVF=FLAG),
    enablePortSecurity=FLAG,
    propagateUplinkStatus=FLAG,
    valueSpecs=several(some({"name": st.just("qos"), "key": st.just("qos_policy_id"), "value": st.just("x")}), "name"),
).map(_secured)
OLDER_PORT = st.sampled_from([{"network": {"id": ID}, "disablePortSecurity": off} for off in (True, False)])
HERE = PORT.map(lambda port: {"network": {"id": ID}, **port})  # its network is given
PORTS = st.one_of(HERE, HERE, HERE, HERE, HERE, OLDER_PORT, PORT)

ZONE = st.sampled_from([{"name": "nova"}, {"from": "Name", "name": "nova"}, {"from": "Machine"}])
VOLUME = some(type=st.just("fast"), availabilityZone=ZONE)
STORAGE = st.just({"type": "Local"}) | some({"type": st.just("Volume")}, volume=VOLUME)
DEVICE = some({"name": st.sampled_from(["root", "data", "error-logs"]), "sizeGiB": st.just(5), "storage": STORAGE})
HINT = st.sampled_from(
    [
        {"name": "different_host", "value": {"type": "String", "string": ID}},
        {"name": "dry", "value": {"type": "Bool", "bool": False}},
        {"name": "cells", "value": {"type": "Number", "number": 0}},
    ]
)


def _disks(spec: Raw) -> Raw:
    """No disk is named root next to a rootVolume."""
    devices = [d for d in spec.get("additionalBlockDevices", ()) if not ("rootVolume" in spec and d["name"] == "root")]
    return {**spec, "additionalBlockDevices": devices} if devices else spec | {"additionalBlockDevices": []}


POOL_REF: Raws = st.just({"kind": "OpenStackFloatingIPPool", "name": "p"})
FIELDS: dict[str, Any] = {
    "securityGroups": several(REF),
    "trunk": FLAG,
    "tags": TAGS,
    "serverMetadata": several(st.sampled_from([{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]), "key"),
    "configDrive": FLAG,
    "rootVolume": some({"sizeGiB": st.just(10)}, type=st.just("fast"), availabilityZone=ZONE),
    "additionalBlockDevices": several(DEVICE, "name"),
    "serverGroup": REF.map(lambda ref: ref if "id" in ref else {"filter": {"name": "a"}}),
    "floatingIPPoolRef": POOL_REF,
    "schedulerHintAdditionalProperties": several(HINT, "name"),
    "recreatePolicy": RECREATE,
    "credentialsLostPolicy": CREDENTIALS,
}
IMAGE: Raws = st.sampled_from([{"id": ID}, {"filter": {"name": "a"}}, {"imageRef": {"name": "a"}}])
FLAVOR: Raws = st.sampled_from([{"flavor": "small"}, {"flavorID": "7"}])
SERVER: Raws = st.builds(
    lambda flavor, spec: _disks({**spec, **flavor}),
    FLAVOR,
    some(
        {
            "identityRef": IDENTITY,
            "image": IMAGE,
            "sshKeyName": st.sampled_from(["", "me"]),
            "ports": st.lists(PORTS, min_size=1, max_size=3),
        },
        availabilityZone=st.just("nova"),
        userDataRef=st.just({"name": "data"}),
        **FIELDS,
    ),
)
MACHINE: Raws = st.builds(
    lambda flavor, spec: _disks({**spec, **flavor}),
    FLAVOR | st.sampled_from([{"flavor": {"id": "7"}}, {"flavor": {"filter": {"name": "small"}}}]),
    some(
        {"image": IMAGE},
        sshKeyName=st.just("me"),
        ports=st.lists(PORTS, max_size=2),
        identityRef=IDENTITY,
        **FIELDS,
    ),
)

CIDR = st.sampled_from(["10.6.0.0/24", "10.6.0.1/24", "10.6.0.0/31", "10.6.0.1/32"])
GROUPS = st.lists(st.sampled_from(["bastion", "controlplane", "worker"]), unique=True, max_size=3)
RULE = st.builds(
    lambda rule, remote: {**rule, **remote},
    some(
        {"name": st.sampled_from("xyz"), "direction": st.sampled_from(["ingress", "egress"])},
        etherType=st.sampled_from(["IPv4", "IPv6"]),
        protocol=st.just("tcp"),
        portRangeMin=st.just(80),
        portRangeMax=st.just(81),
        description=st.just("text"),
    ),
    some(remoteManagedGroups=GROUPS) | st.sampled_from([{"remoteIPPrefix": "10.0.0.0/8"}, {"remoteGroupID": ID}]),
)
SECURITY: Raws = some(
    clusterNodesSecurityGroupRules=several(RULE, "name"),
    controlPlaneNodesSecurityGroupRules=several(RULE, "name"),
    workerNodesSecurityGroupRules=several(RULE, "name"),
    allowAllInClusterTraffic=FLAG,
)
BASTION: Raws = some({"spec": MACHINE}, enabled=FLAG, availabilityZone=st.just("nova"), floatingIP=ADDRESS)
API: Raws = some(port=st.just(8443), fixedIP=st.just("10.6.0.5"), floatingIP=ADDRESS, enableFloatingIP=FLAG)
SUBNET: Raws = some({"cidr": CIDR}, dnsNameservers=st.just(["10.0.0.2"])) | some(
    {"cidr": CIDR.filter(lambda cidr: cidr.endswith("/24"))},
    dnsNameservers=st.just(["10.0.0.2"]),
    allocationPools=st.just([{"start": "10.6.0.9", "end": "10.6.0.99"}]),
)
NETWORK: Raws = st.one_of(
    some(
        {"managedSubnets": SUBNET.map(lambda subnet: [subnet])},
        managedNetwork=some({"mtu": st.just(1400)}, enablePortSecurity=FLAG),
        managedRouter=st.just(
            {"externalIPs": [{"subnet": {"id": ID}}, {"subnet": {"id": ID}, "fixedIP": "192.0.2.3"}]}
        ),
        router=REF,
    ),
    some(network=REF, subnets=st.lists(REF, min_size=1, max_size=2), primarySubnet=REF),
)


def _inside(spec: Raw) -> Raw:
    """Without an external network there are no floating IPs."""
    if spec.get("enableExternalNetwork") is not False:
        return spec
    spec = {**spec, "apiServer": {**spec.get("apiServer", {}), "enableFloatingIP": False}}
    inner = {name: value for name, value in spec.get("bastion", {}).items() if name != "floatingIP"}
    return {**spec, "bastion": inner} if inner else spec


CLUSTER: Raws = st.builds(
    lambda network, spec: _inside({**network, **spec}),
    NETWORK,
    some(
        {"identityRef": IDENTITY},
        externalNetwork=REF,
        enableExternalNetwork=FLAG,
        apiServer=API,
        managedSecurityGroups=SECURITY,
        tags=TAGS,
        controlPlaneEndpoint=some(host=st.just("api.example"), port=st.just(443)),
        controlPlaneAvailabilityZones=TAGS,
        controlPlaneOmitAvailabilityZone=FLAG,
        bastion=BASTION,
        recreatePolicy=RECREATE,
        credentialsLostPolicy=CREDENTIALS,
    ),
)
POOL: Raws = some(
    {"identityRef": IDENTITY},
    preAllocatedFloatingIPs=st.lists(ADDRESS, unique=True, max_size=2),
    maxIPs=st.integers(0, 3),
    floatingIPNetwork=REF,
    reclaimPolicy=st.sampled_from(["Retain", "Delete"]),
)
