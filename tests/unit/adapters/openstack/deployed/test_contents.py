"""What users own in stores and back ends, as the real SDK reads the answers of Glance and Cinder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from openstack.block_storage.v3.volume import Volume
from openstack.image.v2.image import Image
from openstack.image.v2.service_info import Store

from stackwright.adapters.openstack.deployed.agents import APIS
from stackwright.adapters.openstack.deployed.inventory import LISTS, gathered, images, volumes
from stackwright.core.errors import TransientError
from stackwright.core.openstack.deployed.inventory import result
from stackwright.services.registry import AGENT_LISTS, PUBLIC, SERVICES

STORES = ("rbd", "files", "web")  # that Glance has
pytestmark = pytest.mark.filterwarnings("default")  # of the SDK, about itself


def cloud(found_images: list[dict[str, Any]] = [], found_volumes: list[dict[str, Any]] = []) -> Any:  # noqa: B006
    return SimpleNamespace(
        image=SimpleNamespace(
            images=partial(_images, found_images), stores=lambda: [Store.existing(id=name) for name in STORES]
        ),
        block_storage=SimpleNamespace(
            volumes=lambda details, all_projects, limit: [Volume.existing(**body) for body in found_volumes]
        ),
    )


def _images(found: list[dict[str, Any]], visibility: str = "", is_hidden: bool = False) -> list[Image]:
    """As Glance filters them for an administrator."""
    return [
        Image.existing(**body)
        for body in found
        if body.get("os_hidden", False) is is_hidden and (visibility == "all" or body.get("visibility") != "community")
    ]


def test_an_image_belongs_to_its_only_store() -> None:
    found = [
        {"id": "1", "name": "guest", "stores": "rbd"},
        {"id": "2", "name": "both", "stores": "rbd,files"},
        {"id": "3", "stores": "files"},
        {"id": "4", "name": "queued"},
    ]
    assert gathered(["rbd"], images(cloud(found), ["rbd"])) == {"rbd": ["guest"]}
    assert gathered(["files"], images(cloud(found), ["files"])) == {"files": ["3"]}


def test_an_image_is_lost_with_the_last_of_its_stores() -> None:
    found = [
        {"id": "1", "name": "both", "stores": "rbd,files"},
        {"id": "2", "name": "kept", "stores": "rbd, web"},
    ]
    assert gathered(["files", "rbd"], images(cloud(found), ["files", "rbd"])) == {"files": ["both"], "rbd": ["both"]}


def test_an_image_does_not_survive_in_a_store_that_was_removed_earlier() -> None:
    """Glance keeps the name of such a store in the image."""
    found = [{"id": "1", "name": "copied", "stores": "former,files"}]
    assert gathered(["files"], images(cloud(found), ["files"])) == {"files": ["copied"]}


def test_hidden_and_community_images_are_content_too() -> None:
    found = [
        {"id": "1", "name": "hidden", "stores": "rbd", "os_hidden": True},
        {"id": "2", "name": "community", "stores": "rbd", "visibility": "community"},
        {"id": "3", "name": "both", "stores": "rbd", "visibility": "community", "os_hidden": True},
        {"id": "4", "name": "usual", "stores": "rbd", "visibility": "shared"},
    ]
    assert gathered(["rbd"], images(cloud(found), ["rbd"])) == {"rbd": ["both", "community", "hidden", "usual"]}


def test_a_volume_belongs_to_the_back_end_of_its_host() -> None:
    found = [
        {"id": "1", "name": "data", "os-vol-host-attr:host": "cinder@rbd#rbd"},
        {"id": "2", "name": "", "os-vol-host-attr:host": "cinder-volume-0@files#files"},
        {"id": "3", "name": "nowhere", "os-vol-host-attr:host": None},
    ]
    assert gathered(["rbd", "files"], volumes(cloud(found_volumes=found))) == {"rbd": ["data"], "files": ["2"]}


@pytest.mark.parametrize("name", ["n" * 255, "\U0001f600" * 255, "\x01" * 255, '"', "\ud800"])
def test_what_is_gathered_fits_in_a_configmap(name: str) -> None:
    """It has at most 1 MiB, in bytes."""
    held: list[str] = []

    def endless() -> Iterator[tuple[str, str]]:
        while True:
            held.append(name)
            yield "rbd", name

    with pytest.raises(TransientError, match="exceed 1,000,000 bytes"):
        gathered(["rbd"], endless())
    text = result({"rbd": held[:-1]}, None, 0)["held.json"]
    assert 990_000 < len(text.encode(errors="surrogatepass")) < 1 << 20


def test_each_service_with_agents_or_back_ends_is_in_the_tables_of_the_adapters() -> None:
    agents = {each.service for each in SERVICES if each.agents}
    assert APIS.keys() == agents
    assert agents <= AGENT_LISTS.keys() <= PUBLIC.keys(), "`status` asks the public host for them"
    assert LISTS.keys() == agents | {each.service for each in SERVICES if each.backends}
