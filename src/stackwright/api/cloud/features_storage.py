"""Features of storage and databases: the models of `features.ceph`, `features.cinder` and `features.database`."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from stackwright.api.cloud.features import Quantity
from stackwright.api.fields.cron import Schedule
from stackwright.api.fields.lines import LINE, Line, unlined
from stackwright.api.fields.naming import NamespaceName
from stackwright.api.meta import Model
from stackwright.api.services.helmbundle import FreeForm
from stackwright.api.support import Absent, OffAnyway, Unsupported, absent, unsupported

DEFAULT_BACKEND = "rbd"
LIMIT = r"[A-Za-z0-9_.:-]{1,255}"


class CephFeatures(Model):
    """Settings of Ceph; these fields are ours, because the reference reads everything from the shared Secret."""

    shared_namespace: NamespaceName = Field(
        "openstack-ceph-shared",
        description="Namespace with the Secret openstack-ceph-keys of an external Ceph.",
    )
    osds: int | None = Field(None, ge=1, le=32, description="OSDs of the cloud's own Ceph; default: 1 or 3, by size.")
    osd_size: Quantity = Field("20Gi", description="Maximum size of each OSD; disk space is allocated on use.")


class CinderBackendValues(Model):
    conf: FreeForm = Field(
        description="cinder: sections of cinder.conf; backends: section of each back end → option → value."
    )


class CinderBackend(Model):
    type: Literal["statefulset"] = Field("statefulset", description="Settings of its cinder-volume service.")
    enabled: bool = Field(True, description="Whether the back end is enabled.")
    create_volume_type: bool = Field(True, description="Create a volume type with its name.")
    values: CinderBackendValues = Field(description="Configuration of the back end.")

    @property
    def names(self) -> dict[str, Any]:
        """Section → the volume_backend_name with which volume types select it."""
        return {at: options.get("volume_backend_name", at) for at, options in self.values.conf["backends"].items()}

    @model_validator(mode="after")
    def _has_backends(self) -> CinderBackend:
        backends = self.values.conf.get("backends")
        if not isinstance(backends, dict) or not backends or not all(isinstance(b, dict) for b in backends.values()):
            raise ValueError("values.conf.backends: takes section → option → value, with at least one section")
        if wrong := [
            f"values.conf.backends.{at}.volume_backend_name: takes a name"
            for at, name in self.names.items()
            if not (isinstance(name, str) and name)
        ]:
            raise ValueError("; ".join(wrong))
        sections = self.values.conf.get("cinder", {})
        if not isinstance(sections, dict) or not all(isinstance(options, dict) for options in sections.values()):
            raise ValueError("values.conf.cinder: takes section → option → value")
        if broken := list(unlined(self.values.conf, "values.conf")):
            raise ValueError(f"{', '.join(broken)}: {LINE.message}")
        if unknown := sorted(set(self.values.conf) - {"cinder", "backends"}):
            raise ValueError(f"values.conf: unknown {', '.join(unknown)}; allowed: backends, cinder")
        return self


class CinderVolume(Model):
    enabled: bool = Field(True, description="Run cinder-volume.")
    backends: dict[Line, CinderBackend] = Field(
        default_factory=dict, description="name → back end; default: rbd, in Ceph."
    )


class CinderBackup(Model):
    enabled: bool = Field(
        True, description="Run cinder-backup, which stores backups in object storage if the cloud has it, else in Ceph."
    )
    drivers: Unsupported = unsupported("Other drivers of backups; set them in `services`.")


class VolumeQos(Model):
    consumer: Literal["front-end", "back-end", "both"] = Field(
        "back-end", description="Where limits are enforced: the hypervisor (front-end), the back end, or both."
    )
    specs: dict[Line, int] = Field(min_length=1, description="Limit → number, such as total_iops_sec.")

    @field_validator("specs")
    @classmethod
    def _are_limits(cls, specs: dict[str, int]) -> dict[str, int]:
        if wrong := [name for name in specs if not re.fullmatch(LIMIT, name) or name in ("name", "consumer")]:
            raise ValueError(f"{', '.join(map(repr, wrong))}: not the name of a limit, such as total_iops_sec")
        if negative := [name for name, number in specs.items() if number < 0]:
            raise ValueError(f"{', '.join(negative)}: takes 0 or more")
        return specs


class VolumeType(Model):
    """Ours; the reference has none but those of back ends."""

    backend: Line | None = Field(
        None,
        min_length=1,
        description="volume_backend_name of the back end for its volumes; default: the one of the same name, or any.",
    )
    description: str = Field("", description="For users.")
    public: bool = Field(True, description="Whether all projects can use it.")
    multi_attach: bool = Field(False, description="Allow several servers to attach a volume at the same time.")
    qos: VolumeQos | None = Field(None, description="Limits of its volumes.")
    extra_specs: dict[Line, Line] = Field(
        default_factory=dict, description="Additional extra specs for Cinder's drivers."
    )

    @field_validator("extra_specs")
    @classmethod
    def _are_others(cls, specs: dict[str, str]) -> dict[str, str]:
        said = {"volume_backend_name": "backend", "multiattach": "multi_attach"}
        if wrong := [f"{name}: use {said[name]} instead" for name in specs if name in said]:
            raise ValueError("; ".join(wrong))
        return specs


class CinderFeatures(Model):
    volume: CinderVolume = Field(default_factory=CinderVolume, description="Back ends of volumes.")
    volume_types: dict[Line, VolumeType] = Field(
        default_factory=dict,
        description="name → volume type, in addition to those of the back ends, or overriding them.",
    )
    backup: CinderBackup = Field(default_factory=CinderBackup, description="Backups of volumes.")

    @model_validator(mode="after")
    def _has_backends(self) -> CinderFeatures:
        asked = [backend for backend in self.volume.backends.values() if backend.enabled]
        known = {name for backend in asked for name in backend.names.values()}
        if not self.volume.backends:
            known = {DEFAULT_BACKEND}
        if not self.volume.enabled:
            known = set()
        allowed = ", ".join(sorted(known)) or "none, because no back end is enabled"
        wrong = [
            f"volume_types.{name}.backend: unknown {kind.backend}; allowed: {allowed}"
            for name, kind in self.volume_types.items()
            if kind.backend and kind.backend not in known
        ]
        wrong += [
            f"volume_types.{name!r}: takes a name of 1 to 255 characters without spaces at its ends"
            for name in self.volume_types
            if not 0 < len(name) < 256 or name != name.strip()
        ]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


# --- database


class Cleanup(Model):
    enabled: bool = Field(True, description="Purge rows of deleted resources from the database.")
    schedule: Schedule = Field("1 0 * * 1", description="Schedule in cron format.")
    age: int = Field(30, ge=1, description="Days for which deleted rows are kept.")
    batch: int = Field(1000, ge=1, description="Maximum rows per transaction.")


class DatabaseCleanup(Model):
    nova: Cleanup = Field(default_factory=Cleanup, description="Of Nova.")
    cinder: Cleanup = Field(default_factory=Cleanup, description="Of Cinder.")
    glance: Cleanup = Field(default_factory=Cleanup, description="Of Glance.")
    barbican: Absent | None = absent("Of Barbican.")
    masakari: Absent | None = absent("Of Masakari.")
    heat: Absent | None = absent("Of Heat.")
    aodh: Absent | None = absent("Of Aodh.")
    manila: Absent | None = absent("Of Manila.")
    horizon: Absent | None = absent("Of Horizon.")


class DatabaseFeatures(Model):
    cleanup: DatabaseCleanup = Field(default_factory=DatabaseCleanup, description="Purge jobs.")
    backup: OffAnyway | None = absent("Backups of the database.")
