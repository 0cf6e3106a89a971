"""The features of the block storage service, and facts about the surrounding cloud."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from stackwright.api.errors import name_of, repeatable
from stackwright.api.fields.lines import LINE, Line, unlined
from stackwright.api.fields.naming import InstanceName
from stackwright.api.meta import Model
from stackwright.api.rules import ERRORS
from stackwright.api.secrecy import HIDDEN
from stackwright.api.services.helmbundle import FreeForm
from stackwright.api.support import Unsupported, unsupported
from stackwright.api.wording import choices, unknown
from stackwright.services.ceph.clients import CEPH_CONF
from stackwright.services.context import Settings, Values
from stackwright.services.mariadb.cleanup import Cleanup

DEFAULT_BACKEND = "rbd"
RBD = "cinder.volume.drivers.rbd.RBDDriver"
CEPH_BACKUP = "cinder.backup.drivers.ceph.CephBackupDriver"
SWIFT_BACKUP = "cinder.backup.drivers.swift.SwiftBackupDriver"
DEFAULT_BACKENDS = {DEFAULT_BACKEND: {"values": {"conf": {"backends": {DEFAULT_BACKEND: {"volume_driver": RBD}}}}}}
# Defaults of a back end in Ceph; pool, user and secret UUID are in the client's Secret.
RBD_OPTIONS: Values = {
    "rbd_ceph_conf": CEPH_CONF,
    "rbd_flatten_volume_from_snapshot": False,
    "rbd_max_clone_depth": 5,
    "report_discard_supported": True,
}
LIMIT = r"[A-Za-z0-9_.:-]{1,255}"


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
        """Section → its volume_backend_name, by which volume types select it."""
        return {at: options.get("volume_backend_name", at) for at, options in self.values.conf["backends"].items()}

    @model_validator(mode="after")
    def _has_backends(self) -> CinderBackend:
        backends = self.values.conf.get("backends")
        if not isinstance(backends, dict) or not backends or not all(isinstance(b, dict) for b in backends.values()):
            raise ValueError("values.conf.backends: takes section → option → value, with at least one section")
        if wrong := [
            f"values.conf.backends.{name_of(at)}.volume_backend_name: takes a name"
            for at, name in self.names.items()
            if not (isinstance(name, str) and name)
        ]:
            raise ValueError("; ".join(wrong))
        sections = self.values.conf.get("cinder", {})
        if not isinstance(sections, dict) or not all(isinstance(options, dict) for options in sections.values()):
            raise ValueError("values.conf.cinder: takes section → option → value")
        if broken := list(unlined(self.values.conf, "values.conf")):
            raise ValueError(f"{', '.join(broken)}: {LINE.message}")
        known = ("backends", "cinder")
        if wrong := sorted(set(self.values.conf) - {*known}):
            raise ValueError(f"values.conf: {unknown('section', [*map(name_of, wrong)], known)}")
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
            raise ValueError(
                f"{', '.join(repr(name_of(name)) for name in wrong)}: not the name of a limit, such as total_iops_sec"
            )
        if negative := [name for name, number in specs.items() if number < 0]:
            raise ValueError(f"{', '.join(map(name_of, negative))}: takes 0 or more")
        return specs


class VolumeType(Model):
    """A volume type. The field is ours; the reference only has those of back ends."""

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
        why = "" if known else ", because no back end is enabled"
        others = {
            name: kind.backend for name, kind in self.volume_types.items() if kind.backend and kind.backend not in known
        }
        allowed = [name_of(each) for each in islice(sorted(known), ERRORS)] if others else []
        wrong = [
            f"volume_types.{name_of(name)}.backend: unknown {name_of(backend)}; {choices(backend, allowed)}{why}"
            for name, backend in islice(others.items(), ERRORS)
        ]
        wrong += [
            f"volume_types.{repr(name) if repeatable((), name) else HIDDEN}: takes a name of 1 to 255 characters "
            "without spaces at its ends"
            for name in self.volume_types
            if not 0 < len(name) < 256 or name != name.strip()
        ]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class CinderSettings(CinderFeatures, Settings):
    """features.cinder."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
    services: list[Line] = Field(
        default_factory=list, description="Services of the cloud, by their names in features.services."
    )
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.cinder.")

    @property
    def backends(self) -> dict[str, CinderBackend]:
        """The enabled back ends, by name."""
        if not self.volume.enabled:
            return {}
        asked = self.volume.backends or {
            name: CinderBackend.model_validate(backend) for name, backend in DEFAULT_BACKENDS.items()
        }
        return {name: backend for name, backend in asked.items() if backend.enabled}

    @property
    def sections(self) -> dict[str, Values]:
        """Section of cinder.conf → its options, of all back ends."""
        found: dict[str, Values] = {}
        for backend in self.backends.values():
            for name, options in backend.values.conf["backends"].items():
                above = RBD_OPTIONS if options.get("volume_driver") == RBD else {}
                found[name] = {**above, "volume_backend_name": name, **options}
        return found

    @property
    def rbd_sections(self) -> list[str]:
        return [name for name, options in self.sections.items() if options.get("volume_driver") == RBD]

    @property
    def backup_driver(self) -> str:
        """Empty if backups are disabled."""
        if not self.backup.enabled:
            return ""
        return SWIFT_BACKUP if "object-storage" in self.services else CEPH_BACKUP

    @property
    def in_ceph(self) -> bool:
        return bool(self.rbd_sections) or self.backup_driver == CEPH_BACKUP

    @property
    def coordinated(self) -> bool:
        return "coordination" in self.services

    @property
    def clustered(self) -> bool:
        """Whether every pod of cinder-volume can do the work of any other."""
        return self.coordinated and bool(self.sections) and len(self.rbd_sections) == len(self.sections)
