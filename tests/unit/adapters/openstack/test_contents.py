"""What users own in stores and back ends, as the real SDK reads the answers of Glance and Cinder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openstack.block_storage.v3.volume import Volume
from openstack.image.v2.image import Image

from stackwright.adapters.openstack.inventory import gathered, images, volumes

pytestmark = pytest.mark.filterwarnings("default")  # of the SDK, about itself


def cloud(found_images: list[dict[str, Any]] = [], found_volumes: list[dict[str, Any]] = []) -> Any:  # noqa: B006
    return SimpleNamespace(
        image=SimpleNamespace(images=lambda: [Image.existing(**body) for body in found_images]),
        block_storage=SimpleNamespace(
            volumes=lambda details, all_projects, limit: [Volume.existing(**body) for body in found_volumes]
        ),
    )


def test_an_image_belongs_to_its_only_store() -> None:
    found = [
        {"id": "1", "name": "guest", "stores": "rbd"},
        {"id": "2", "name": "both", "stores": "rbd,files"},
        {"id": "3", "stores": "files"},
        {"id": "4", "name": "queued"},
    ]
    assert gathered(["rbd", "files"], images(cloud(found))) == {"rbd": ["guest"], "files": ["3"]}


def test_a_volume_belongs_to_the_back_end_of_its_host() -> None:
    found = [
        {"id": "1", "name": "data", "os-vol-host-attr:host": "cinder@rbd#rbd"},
        {"id": "2", "name": "", "os-vol-host-attr:host": "cinder-volume-0@files#files"},
        {"id": "3", "name": "nowhere", "os-vol-host-attr:host": None},
    ]
    assert gathered(["rbd", "files"], volumes(cloud(found_volumes=found))) == {"rbd": ["data"], "files": ["2"]}
