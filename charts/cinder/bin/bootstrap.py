"""Makes the volume types that BOOTSTRAP says: name → {extra_specs, description, is_public}.

It waits inside, for Keystone and Cinder. Extra specs that differ are set right; what else a type has stays as it is, and so do
other types.
"""

import json
import logging
import os
from typing import Any

import openstack
from openstack.exceptions import BadRequestException
from patience import retry, say


REFUSED = (BadRequestException,)


def connect() -> openstack.connection.Connection:
    cloud = openstack.connect(cloud=os.environ.get("OS_CLOUD", "openstack"), app_name="stackwright-bootstrap")
    cloud.block_storage.get("/types").raise_for_status()
    return cloud


def make_type(cloud: openstack.connection.Connection, name: str, wanted: dict[str, Any]) -> None:
    """The type as it shall be; one that users cannot see has its name too."""
    specs = {key: str(value) for key, value in (wanted.get("extra_specs") or {}).items()}
    found = next((kind for kind in cloud.block_storage.types(is_public="None") if kind.name == name), None)
    if found is None:
        say(f"making volume type {name}")
        public = wanted.get("is_public", True)
        found = cloud.block_storage.create_type(
            name=name, description=wanted.get("description") or "", is_public=public
        )
    if any((found.extra_specs or {}).get(key) != value for key, value in specs.items()):
        say(f"setting extra specs of volume type {name}: {specs}")
        cloud.block_storage.update_type_extra_specs(found, **specs)


def main() -> None:
    logging.disable(logging.WARNING)  # each attempt in vain would be told twice
    cloud = retry("Keystone and Cinder", connect)
    for name, wanted in json.loads(os.environ["BOOTSTRAP"]).items():
        retry(f"volume type {name}", lambda name=name, wanted=wanted: make_type(cloud, name, wanted or {}), REFUSED)
    say("done")


main()
