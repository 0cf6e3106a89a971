"""Names of the reference systems: of services and kinds that no model declares, and of undeclared fields.

They are rejected as unsupported rather than unknown. Pure data.
"""

from __future__ import annotations

ANY = "*"  # any other name: in the reference, the field is a map, and the model has only some of its entries

# Services of an OpenStackDeployment in the reference, and programs of them; `cloud/service_names.py` subtracts those
# that are declared.
_SERVICES = """
alarming app-gateway baremetal cloudprober descheduler dns dynamic-resource-balancer event instance-ha key-manager
load-balancer metering metric metric-storage orchestration redis shared-file-system stepler tempest
aodh barbican ceilometer designate gnocchi heat ironic manila masakari octavia
"""
SERVICES = frozenset(_SERVICES.split())

# Kinds of the reference systems. A kind that this version has is looked up before.
_KINDS = """
OpenStackDeploymentStatus OpenStackDeploymentSecret DRBConfig NodeMaintenanceRequest ClusterMaintenanceRequest
NodeWorkloadLock ClusterWorkloadLock NodeDeletionRequest NodeDisableNotification

OpenStack OpenStackVersion OpenStackClient OpenStackBackupConfig OpenStackDataPlaneNodeSet OpenStackDataPlaneDeployment
OpenStackDataPlaneService OpenStackBaremetalSet OpenStackProvisionServer

RabbitMq TransportURL RabbitMQUser RabbitMQVhost RabbitMQPolicy Redis NetConfig IPSet Reservation DNSMasq DNSData
BGPConfiguration Topology InstanceHa Galera MariaDBDatabase MariaDBAccount GaleraBackup GaleraRestore

KeystoneAPI KeystoneEndpoint KeystoneApplicationCredential NovaCell NovaAPI NovaScheduler NovaConductor NovaMetadata
NovaNoVNCProxy NovaCompute PlacementAPI Cyborg CyborgAPI CyborgConductor NeutronAPI OVNDBCluster OVNNorthd OVNController
GlanceAPI CinderAPI CinderScheduler CinderVolume CinderBackup Manila ManilaAPI ManilaScheduler ManilaShare Heat HeatAPI
HeatCfnAPI HeatEngine Barbican BarbicanAPI BarbicanWorker BarbicanKeystoneListener Designate DesignateAPI
DesignateCentral DesignateMdns DesignateProducer DesignateWorker DesignateBackendbind9 DesignateUnbound Octavia
OctaviaAPI OctaviaAmphoraController OctaviaRsyslog Swift SwiftProxy SwiftStorage SwiftRing Ironic IronicAPI
IronicConductor IronicInspector IronicNeutronAgent Telemetry Ceilometer Autoscaling MetricStorage Logging CloudKitty
CloudKittyAPI CloudKittyProc Watcher WatcherAPI WatcherApplier WatcherDecisionEngine Tempest Tobiko HorizonTest
AnsibleTest
"""
KINDS = frozenset(_KINDS.split())


def names_of(model: type) -> set[str]:
    """Fields of the reference that a model does not declare (`UNDECLARED`); includes ANY if the reference allows all
    other names.
    """
    return {name for base in model.__mro__ for name in vars(base).get("UNDECLARED", "").split()}
