"""The features of Ceph, and whether the cloud runs its own."""

from __future__ import annotations

from pydantic import Field

from stackwright.api.fields.naming import NamespaceName
from stackwright.api.fields.shared import Quantity
from stackwright.api.meta import Model
from stackwright.services.context import Settings


class CephFeatures(Model):
    """Settings of Ceph. The fields are ours, because the reference reads all its settings from the shared Secret."""

    shared_namespace: NamespaceName = Field(
        "openstack-ceph-shared",
        description="Namespace with the Secret openstack-ceph-keys of an external Ceph.",
    )
    osds: int | None = Field(None, ge=1, le=32, description="OSDs of the cloud's own Ceph; default: 1 or 3, by size.")
    osd_size: Quantity = Field("20Gi", description="Maximum size of each OSD; disk space is allocated on use.")


class CephSettings(CephFeatures, Settings):
    """features.ceph, and whether the cloud runs its own Ceph."""

    trial: bool = Field(False, description="Run a small Ceph in the cloud; otherwise the cloud uses an external Ceph.")

    def exchange(self, namespace: str) -> str:
        """The namespace of the objects that are exchanged with the provider of Ceph."""
        return namespace if self.trial else self.shared_namespace
