"""Creates the volume types in BOOTSTRAP: name → {extra_specs, description, is_public, qos: {consumer, specs}}.

Waits for Keystone and Cinder. Corrects different descriptions, visibility, extra specs and QoS of these types. Other
extra specs and other volume types are not changed.
"""

import json
import logging
import os
from typing import Any

import openstack
from openstack.exceptions import BadRequestException
from patience import Refused, fail, retry, say

REFUSED = (BadRequestException,)


def connect() -> openstack.connection.Connection:
    cloud = openstack.connect(cloud=os.environ.get("OS_CLOUD", "openstack"), app_name="stackwright-bootstrap")
    cloud.block_storage.get("/types").raise_for_status()
    return cloud


def make_type(cloud: openstack.connection.Connection, name: str, wanted: dict[str, Any]) -> None:
    """Creates or updates a volume type. Private types are searched too, because names are unique among all types."""
    found = next((kind for kind in cloud.block_storage.types(is_public="None") if kind.name == name), None)
    shown = {key: wanted[key] for key in ("description", "is_public") if key in wanted}
    if found is None:
        say(f"making volume type {name}")
        found = cloud.block_storage.create_type(name=name, **shown)
    elif any(getattr(found, key) != value for key, value in shown.items()):
        say(f"setting volume type {name}: {shown}")
        # A plain request, because the SDK sends is_public under a name that this API call does not accept.
        ask(cloud, "PUT", f"/types/{found.id}", {"volume_type": shown})
    if qos := wanted.get("qos"):
        limit(cloud, name, found.id, {key: str(value) for key, value in qos["specs"].items()}, qos["consumer"])
    # Last, because Cinder refuses this if volumes of the type exist.
    specs = {key: str(value) for key, value in (wanted.get("extra_specs") or {}).items()}
    if any((found.extra_specs or {}).get(key) != value for key, value in specs.items()):
        say(f"setting extra specs of volume type {name}: {specs}")
        cloud.block_storage.update_type_extra_specs(found, **specs)


def limit(cloud: openstack.connection.Connection, name: str, kind: str, specs: dict[str, str], consumer: str) -> None:
    """Creates or updates the QoS of a type, under the same name. Plain requests, because the SDK lacks QoS calls."""
    there = next((each for each in ask(cloud, "GET", "/qos-specs")["qos_specs"] if each["name"] == name), None)
    if there is None:
        say(f"making QoS {name}: {consumer} {specs}")
        there = ask(cloud, "POST", "/qos-specs", {"qos_specs": {"name": name, "consumer": consumer, **specs}})[
            "qos_specs"
        ]
    elif (there["consumer"], there["specs"]) != (consumer, specs):
        say(f"setting QoS {name}: {consumer} {specs}")
        ask(cloud, "PUT", f"/qos-specs/{there['id']}", {"qos_specs": {"consumer": consumer, **specs}})
        if gone := [key for key in there["specs"] if key not in specs]:
            ask(cloud, "PUT", f"/qos-specs/{there['id']}/delete_keys", {"keys": gone})
    bound = ask(cloud, "GET", f"/qos-specs/{there['id']}/associations")["qos_associations"]
    if kind not in {each["id"] for each in bound}:
        ask(cloud, "GET", f"/qos-specs/{there['id']}/associate?vol_type_id={kind}")


def ask(cloud: openstack.connection.Connection, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
    answer = cloud.block_storage.request(path, verb, json=body)
    openstack.exceptions.raise_from_response(answer)
    return answer.json() if answer.content else {}


def main() -> None:
    logging.disable(logging.WARNING)  # the SDK would log each failed attempt a second time
    cloud = retry("Keystone and Cinder", connect)
    refused = []
    for name, wanted in json.loads(os.environ["BOOTSTRAP"]).items():
        try:
            retry(f"volume type {name}", lambda name=name, wanted=wanted: make_type(cloud, name, wanted or {}), REFUSED)
        except Refused as error:  # continue with the other types
            say(str(error))
            refused.append(str(error))
    if refused:
        fail("; ".join(refused))
    say("done")


main()
