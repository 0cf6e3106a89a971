"""The features of the compute service, and facts about the surrounding cloud."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import InstanceName
from stackwright.api.fields.network import InterfaceName
from stackwright.api.fields.shared import Enabled
from stackwright.api.meta import Model
from stackwright.api.support import OffAnyway, Unsupported, absent, unsupported
from stackwright.services.context import Settings
from stackwright.services.mariadb.cleanup import Cleanup


class AllocationRatios(Model):
    cpu: float = Field(4.0, gt=0, description="Virtual CPUs per physical CPU.")
    disk: float = Field(1.0, gt=0, description="Virtual disk space per physical disk space.")
    ram: float = Field(1.0, gt=0, description="Virtual memory per physical memory.")


class NovaImages(Model):
    backend: Literal["local", "qcow2", "raw", "ceph"] = Field(
        "local",
        description="Disks of instances: local and qcow2 are copy-on-write files, raw plain files, ceph in Ceph.",
    )
    encryption: OffAnyway | None = absent("Encrypted disks.")
    lvm: Unsupported = unsupported("Disks in LVM.")


class AlwaysOn(Model):
    enabled: Literal[True] = Field(True, description="Always enabled.")


class NoVnc(Model):
    enabled: bool = Field(True, description="Console in the browser by noVNC.")
    tls: AlwaysOn = Field(default_factory=AlwaysOn, description="TLS between proxy and hypervisor.")


class NovaConsole(Model):
    novnc: NoVnc = Field(default_factory=NoVnc, description="noVNC.")
    spice: OffAnyway | None = absent("SPICE.")


class NovaLibvirt(Model):
    tls: Enabled = Field(
        default=Enabled(enabled=True),
        description="TLS of memory and disks during live migration. libvirt's port and consoles have TLS anyway.",
    )


class NovaFeatures(Model):
    live_migration_interface: InterfaceName | None = Field(
        None, description="Network interface of the nodes for live migration; default: the node's address."
    )
    allocation_ratios: AllocationRatios = Field(
        default_factory=AllocationRatios, description="Overcommit ratios of nodes."
    )
    vcpu_type: Line | None = Field(None, description="CPU model of instances, as libvirt names it.")
    images: NovaImages = Field(default_factory=NovaImages, description="Storage of instances' disks.")
    console: NovaConsole = Field(default_factory=NovaConsole, description="Consoles of instances.")
    libvirt: NovaLibvirt = Field(default_factory=NovaLibvirt, description="The daemon of the hypervisor.")


class NovaSettings(NovaFeatures, Settings):
    """features.nova."""

    messaging_instance: InstanceName = Field("nova-rabbitmq", description="Name of the RabbitMQ object.")
    services: list[Line] = Field(
        default_factory=list, description="Services of the cloud, as features.services has them."
    )
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.nova.")

    @property
    def in_ceph(self) -> bool:
        return self.images.backend == "ceph"
