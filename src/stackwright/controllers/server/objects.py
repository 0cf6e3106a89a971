"""The OpenStack resources of a server, each with the request that creates it. Pure.

References are already resolved. The bodies are those of Neutron, Cinder and Nova. Volumes are created in Cinder before
the server, because the id of a volume that Nova creates is unknown until it exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.controllers.infra.managed_resources import DesiredResource
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ResourceKey, ResourceType
from stackwright.core.plan import Key

ROOT = "root"
USER_DATA = "value"  # the Secret's key, as in the reference
_PORT_FIELDS = {
    "adminStateUp": "admin_state_up",
    "macAddress": "mac_address",
    "hostID": "binding:host_id",
    "vnicType": "binding:vnic_type",
    "enablePortSecurity": "port_security_enabled",
    "propagateUplinkStatus": "propagate_uplink_status",
}
_PROFILE = {"ovsHWOffload": ("capabilities", ["switchdev"]), "trustedVF": ("trusted", "true")}


def port_slots(resolved: Mapping[str, Any]) -> list[ResourceKey]:
    """Slots of the ports, in the order of the spec."""
    return [("port", str(port["name"])) for port in resolved["ports"]]


def has_trunk(spec: Mapping[str, Any], port: Mapping[str, Any]) -> bool:
    return bool(spec.get("trunk") if port.get("trunk") is None else port["trunk"])


def types(spec: Mapping[str, Any], resolved: Mapping[str, Any]) -> frozenset[ResourceType]:
    """The types of the resources that `parts` returns, and may have returned: what it reads of a spec is immutable."""
    trunks = (
        *(has_trunk(spec, port) for port in spec["ports"]),
        *(p.get("trunk") for p in resolved.get("ports") or ()),
    )
    optional: dict[ResourceType, bool] = {"trunk": any(trunks), "volume": bool(volumes(spec))}
    return frozenset({SERVER_KEY[0], "port", *(what for what, needed in optional.items() if needed)})


def parts(key: Key, spec: Mapping[str, Any], resolved: Mapping[str, Any]) -> Iterator[DesiredResource]:
    """Ports with their trunks, volumes, and then the server."""
    for port in resolved["ports"]:
        port_key: ResourceKey = ("port", str(port["name"]))
        yield DesiredResource(port_key, lambda _, port=port: port_body(port))  # type: ignore[misc]
        if port.get("trunk"):
            body = {"name": port["name"], "tags": port.get("tags") or []}
            yield DesiredResource(
                ("trunk", port_key[1]),
                lambda ids, port_key=port_key, body=body: {**body, "port_id": ids[port_key]},  # type: ignore[misc]
            )
    zone = spec.get("availabilityZone")
    for device in volumes(spec):
        body = volume_body(f"{key[1]}-{device['name']}", device, zone)
        if device["name"] == ROOT and spec.get("rootVolume"):  # without a root volume, a device may have this name
            body["imageRef"] = resolved["imageID"]
        yield DesiredResource(("volume", device["name"]), lambda _, body=body: body)  # type: ignore[misc]
    user_data = spec.get("userDataRef")
    secret = ((key[0], str(user_data["name"])), USER_DATA) if user_data else None
    yield DesiredResource(SERVER_KEY, lambda ids: server_body(key[1], spec, resolved, ids), volumes_ready, secret)


def volumes_ready(things: Mapping[ResourceKey, CloudResource]) -> str:
    """Why the volumes are not ready for the server; empty if they are."""
    for (what, name), thing in sorted(things.items()):
        if what == "volume" and thing.state not in ("available", "in-use", "reserved"):
            return f"Volume {thing.name or name} is {thing.state or 'being created'}"
    return ""


def volumes(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name, size and volume of every Cinder volume, the root disk first."""
    found = []
    if root := spec.get("rootVolume"):
        found.append({"name": ROOT, "sizeGiB": root["sizeGiB"], "volume": root})
    extra = [each for each in spec.get("additionalBlockDevices") or () if each["storage"]["type"] == "Volume"]
    return [*found, *({**each, "volume": each["storage"].get("volume") or {}} for each in extra)]


def port_body(port: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": port["name"],
        "network_id": port["networkID"],
        "description": port.get("description") or "",
        "tags": port.get("tags") or [],
        **{name: port[field] for field, name in _PORT_FIELDS.items() if field in port},
    }
    if addresses := port.get("fixedIPs"):
        names = {"subnet": "subnet_id", "ipAddress": "ip_address"}
        body["fixed_ips"] = [{names[key]: value for key, value in each.items()} for each in addresses]
    if port.get("enablePortSecurity") is not False:
        if groups := port.get("securityGroups"):
            body["security_groups"] = list(groups)
        if pairs := port.get("allowedAddressPairs"):
            body["allowed_address_pairs"] = [_pair(pair) for pair in pairs]
    if profile := port.get("profile"):
        body["binding:profile"] = dict(value for name, value in _PROFILE.items() if profile.get(name))
    return {**body, **{spec["key"]: spec["value"] for spec in port.get("valueSpecs") or ()}}


def _pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    mac = {"mac_address": pair["macAddress"]} if pair.get("macAddress") else {}
    return {"ip_address": pair["ipAddress"], **mac}


def volume_body(name: str, device: Mapping[str, Any], zone: str | None) -> dict[str, Any]:
    wanted = device["volume"]
    place = wanted.get("availabilityZone") or {}
    zone = zone if place.get("from") == "Machine" else place.get("name")
    body = {"name": name, "size": device["sizeGiB"], "volume_type": wanted.get("type"), "availability_zone": zone}
    return {key: value for key, value in body.items() if value}


def server_body(
    name: str, spec: Mapping[str, Any], resolved: Mapping[str, Any], ids: Mapping[ResourceKey, Any]
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": name,
        "flavorRef": resolved["flavorID"],
        "networks": [{"port": ids["port", port["name"]]} for port in resolved["ports"]],
        "key_name": spec.get("sshKeyName"),
        "availability_zone": spec.get("availabilityZone"),
        "config_drive": bool(spec.get("configDrive")),
        "metadata": {each["key"]: each["value"] for each in spec.get("serverMetadata") or ()},
        "tags": sorted(spec.get("tags") or ()),
        "block_device_mapping_v2": devices(spec, resolved, ids),
    }
    if not spec.get("rootVolume"):
        body["imageRef"] = resolved["imageID"]
    hints = {each["name"]: _hint(each["value"]) for each in spec.get("schedulerHintAdditionalProperties") or ()}
    if resolved.get("serverGroupID"):
        hints["group"] = resolved["serverGroupID"]
    return {**{key: value for key, value in body.items() if value not in (None, "", [], {})}, "hints": hints}


def _hint(value: Mapping[str, Any]) -> Any:
    return value[str(value["type"]).lower()]


def devices(
    spec: Mapping[str, Any], resolved: Mapping[str, Any], ids: Mapping[ResourceKey, Any]
) -> list[dict[str, Any]]:
    """Nova's block device mapping; empty if the server only has the disk of its image."""
    found: list[dict[str, Any]] = []
    made = {device["name"] for device in volumes(spec)}
    if spec.get("rootVolume"):
        found.append({**_volume(ids["volume", ROOT]), "boot_index": 0})
    extra = spec.get("additionalBlockDevices") or ()
    if extra and not spec.get("rootVolume"):
        image = {"source_type": "image", "uuid": resolved["imageID"], "destination_type": "local", "boot_index": 0}
        found.append({**image, "delete_on_termination": True})
    for device in extra:
        if device["name"] in made:
            found.append({**_volume(ids["volume", device["name"]]), "boot_index": -1, "tag": device["name"]})
        else:
            blank = {"source_type": "blank", "destination_type": "local", "volume_size": device["sizeGiB"]}
            found.append({**blank, "boot_index": -1, "delete_on_termination": True, "tag": device["name"]})
    return found


def _volume(id_: Any) -> dict[str, Any]:
    return {"source_type": "volume", "uuid": id_, "destination_type": "volume", "delete_on_termination": True}
