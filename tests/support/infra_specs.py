"""Specs of objects of infrastructure.cluster.x-k8s.io, and their fields that cannot change."""

from __future__ import annotations

from typing import Any

ID, OTHER = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
IDENTITY = {"name": "credentials", "cloudName": "openstack"}
MACHINE: dict[str, Any] = {"flavor": "m1.small", "image": {"id": ID}, "sshKeyName": "key"}
SERVER: dict[str, Any] = {**MACHINE, "identityRef": IDENTITY, "ports": [{"network": {"id": ID}}]}
RULE: dict[str, Any] = {"name": "ssh", "direction": "ingress"}
# A cluster with the names of fields of v1beta1.
OLDER: dict[str, Any] = {
    "networkMTU": 1400,
    "externalRouterIPs": [{"subnet": {"id": ID}}],
    "apiServerPort": 6443,
    "apiServerFixedIP": "10.0.0.5",
    "apiServerFloatingIP": "192.0.2.7",
    "disablePortSecurity": True,
    "disableExternalNetwork": False,
    "disableAPIServerFloatingIP": True,
}

# Field → another value than that of SERVER.
FIXED_IN_SERVER: dict[str, Any] = {
    "image": {"id": OTHER},
    "flavor": "m2",
    "flavorID": "7",
    "sshKeyName": "other",
    "trunk": True,
    "tags": ["a"],
    "securityGroups": [{"id": ID}],
    "configDrive": True,
    "rootVolume": {"sizeGiB": 1},
    "additionalBlockDevices": [{"name": "d", "sizeGiB": 1, "storage": {"type": "Local"}}],
    "serverGroup": {"id": ID},
    "serverMetadata": [{"key": "a", "value": "b"}],
    "schedulerHintAdditionalProperties": [{"name": "a", "value": {"type": "Bool", "bool": True}}],
    "availabilityZone": "z",
    "userDataRef": {"name": "x"},
    "floatingIPPoolRef": {"kind": "A", "name": "b"},
    "ports": [{"network": {"id": OTHER}}],
}
# Field, a value, and the field that the message names.
FIXED_IN_CLUSTER: tuple[tuple[str, Any, str], ...] = (
    ("router", {"id": ID}, "router"),
    ("externalNetwork", {"id": ID}, "externalNetwork"),
    ("tags", ["a"], "tags"),
    ("networkMTU", 1400, "managedNetwork.mtu"),
    ("managedNetwork", {"mtu": 1400}, "managedNetwork.mtu"),
    ("disablePortSecurity", False, "managedNetwork.enablePortSecurity"),
    ("disableAPIServerFloatingIP", True, "apiServer.enableFloatingIP"),
    ("externalRouterIPs", [{"subnet": {"id": ID}}], "managedRouter.externalIPs"),
)
