"""The features of the image service, and facts about the surrounding cloud."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from stackwright.api.errors import name_of
from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.fields.shared import Quantity
from stackwright.api.meta import Model
from stackwright.api.support import Absent, absent
from stackwright.services.cloud import Cloud
from stackwright.services.context import Settings, Values
from stackwright.services.declaration import set_fields
from stackwright.services.mariadb.cleanup import Cleanup
from stackwright.services.tested import Alternative


class GlanceVolume(Model):
    size: Quantity = Field(description="Size of the volume.")
    storage_class_name: OptionalObjectName = Field(
        "", description="Storage class; empty for persistent_volume_storage_class, or else the class of local volumes."
    )


class GlanceFileBackend(Alternative):
    default: bool = Field(False, description="Whether this is the default store of images.")
    pvc: GlanceVolume = Field(description="The volume for images.")


class GlanceStore(Alternative):
    default: bool = Field(False, description="Whether this is the default store of images.")


# Sections of every glance-api.conf; each store adds a section.
_GLANCE_SECTIONS = {"database", "glance_store", "keystone_authtoken", "paste_deploy", "cors", "healthcheck"}


def _store_names(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
            raise ValueError(
                f"{name_of(name)!r} is not a valid name of a store; allowed: lower-case letters, digits, _ and -"
            )
        if name in _GLANCE_SECTIONS or name.startswith(("os_glance_", "oslo_", "task")):
            raise ValueError(f"{name} is reserved for another section of glance-api.conf; choose another name")
    return value


class GlanceBackends(Model):
    file: Annotated[dict[Line, GlanceFileBackend], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in files on a volume; one at most."
    )
    rbd: Annotated[dict[Line, GlanceStore], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in Ceph; one at most."
    )
    cinder: Annotated[dict[Line, GlanceStore], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in Cinder volumes; one at most."
    )

    @property
    def stores(self) -> dict[str, GlanceStore | GlanceFileBackend]:
        return {**self.rbd, **self.file, **self.cinder}

    @model_validator(mode="after")
    def _one_default(self) -> GlanceBackends:
        count = len(self.file) + len(self.rbd) + len(self.cinder)
        if count != len(self.stores):
            raise ValueError("two stores have the same name")
        defaults = [name for name, store in self.stores.items() if store.default]
        if len(defaults) > 1 or (count > 1 and not defaults):
            raise ValueError(
                f"exactly one of several stores must be the default; defaults: {', '.join(defaults) or 'none'}"
            )
        return self


class GlanceFeatures(Model):
    backends: GlanceBackends = Field(default_factory=GlanceBackends, description="Stores of images.")
    signature: Absent | None = absent("Signed images.")


_FILES = GlanceBackends(file={"images": GlanceFileBackend(default=True, pvc=GlanceVolume(size="10Gi"))})
_IN_CEPH = GlanceBackends(rbd={"rbd": GlanceStore(default=True)})


class GlanceSettings(GlanceFeatures, Settings):
    """features.glance, and facts about the rest of the cloud."""

    services: list[Line] = Field(
        default_factory=list, description="Services of the cloud, by their names in features.services."
    )
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.glance.")

    @property
    def stores(self) -> GlanceBackends:
        """The configured stores, or the default of the cloud."""
        if self.backends.stores:
            return self.backends
        return _IN_CEPH if "ceph" in self.services else _FILES

    @property
    def default_store(self) -> str:
        stores = self.stores.stores
        return next((name for name, store in stores.items() if store.default), next(iter(stores)))


def with_storage_class(features: GlanceFeatures, cloud: Cloud) -> Values:
    """The features, with the cloud's storage class for a volume without one."""
    found = set_fields(features)
    for store in found.get("backends", {}).get("file", {}).values():
        if cloud.storage_class and not store["pvc"].get("storage_class_name"):
            store["pvc"]["storage_class_name"] = cloud.storage_class
    return found
