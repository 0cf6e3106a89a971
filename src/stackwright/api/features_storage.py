"""Features of storage and of the databases: what `features.ceph`, `features.cinder` and `features.database` may say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from stackwright.api.features import Quantity, Unsupported, unsupported
from stackwright.api.helmbundle import FreeForm
from stackwright.api.meta import Model


class CephFeatures(Model):
    """Ours; the reference takes everything from the shared Secret."""

    shared_namespace: str = Field(
        "openstack-ceph-shared",
        pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
        description="Where Secret openstack-ceph-keys of an external Ceph is.",
    )
    osds: int | None = Field(None, ge=1, le=32, description="OSDs of the cloud's own Ceph; absent: by size, 1 or 3.")
    osd_size: Quantity = Field("20Gi", description="Space of each, which is taken from the disk when it is used.")


class CinderBackendValues(Model):
    conf: FreeForm = Field(
        description="cinder: sections of cinder.conf; backends: section of each back end → option → value."
    )


class CinderBackend(Model):
    type: Literal["statefulset"] = Field("statefulset", description="How its cinder-volume runs.")
    enabled: bool = Field(True, description="Whether it is there.")
    create_volume_type: bool = Field(True, description="Make a volume type of its name.")
    values: CinderBackendValues = Field(description="What it adds to the configuration.")

    @model_validator(mode="after")
    def _has_backends(self) -> CinderBackend:
        backends = self.values.conf.get("backends")
        if not isinstance(backends, dict) or not backends or not all(isinstance(b, dict) for b in backends.values()):
            raise ValueError("values.conf.backends: takes section → option → value, one section at least")
        if unknown := sorted(set(self.values.conf) - {"cinder", "backends"}):
            raise ValueError(f"values.conf: unknown {', '.join(unknown)}; allowed: backends, cinder")
        return self


class CinderVolume(Model):
    enabled: bool = Field(True, description="Run cinder-volume.")
    backends: dict[str, CinderBackend] = Field(
        default_factory=dict, description="name → back end; absent: one in Ceph, named rbd."
    )


class CinderBackup(Model):
    enabled: bool = Field(
        True, description="Run cinder-backup: to object storage where the cloud has it, else to Ceph."
    )
    drivers: Unsupported = unsupported("Other drivers of backups; set them in `services`.")


class CinderFeatures(Model):
    volume: CinderVolume = Field(default_factory=CinderVolume, description="Where volumes are.")
    backup: CinderBackup = Field(default_factory=CinderBackup, description="Where their backups go.")


# --- database


class Cleanup(Model):
    enabled: bool = Field(True, description="Remove what was deleted long ago from the database.")
    schedule: str = Field(
        "1 0 * * 1",
        pattern=r"^(\S+ ){4}\S+$|^@(hourly|daily|weekly|monthly|yearly)$",
        description="When, as cron has it.",
    )
    age: int = Field(30, ge=1, description="Days that a deleted thing is kept.")
    batch: int = Field(1000, ge=1, description="Rows of one step.")


class DatabaseCleanup(Model):
    nova: Cleanup = Field(default_factory=Cleanup, description="Of Nova.")
    cinder: Cleanup = Field(default_factory=Cleanup, description="Of Cinder.")
    glance: Cleanup = Field(default_factory=Cleanup, description="Of Glance.")
    barbican: Unsupported = unsupported("Of Barbican.")
    masakari: Unsupported = unsupported("Of Masakari.")
    heat: Unsupported = unsupported("Of Heat.")
    aodh: Unsupported = unsupported("Of Aodh.")
    manila: Unsupported = unsupported("Of Manila.")
    horizon: Unsupported = unsupported("Of Horizon.")


class DatabaseFeatures(Model):
    cleanup: DatabaseCleanup = Field(default_factory=DatabaseCleanup, description="Purge jobs.")
    backup: Unsupported = unsupported("Backups of the database.")
