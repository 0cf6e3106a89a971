"""Nova: the compute service. Its control plane uses databases and a bus; compute nodes use the bus and a hypervisor.

The cloud has one cell. The nodes with the label of compute nodes are Nova's hosts. The values contain their names, so a
new node leads to a new Job, which waits for the node and registers it with the API.
"""

from __future__ import annotations

from stackwright.services.context import COMPUTE, CONTROL_PLANE
from stackwright.services.declaration import (
    INGRESS,
    OPERATOR,
    AgentList,
    Chart,
    Features,
    Listener,
    NodeAgent,
    Public,
    Secret,
    Service,
)
from stackwright.services.neutron.values import METADATA_PORT
from stackwright.services.nova import libvirt
from stackwright.services.nova.features import NovaFeatures, NovaSettings
from stackwright.services.nova.kind import Nova
from stackwright.services.nova.values import NOVNC_PORT, PORT, certificates, chart_values, contracts
from stackwright.services.tested import (
    IN_CEPH,
    RENDERED_ONLY,
    SMALL_CLOUD,
    SMOKE,
    UP,
    WITHOUT_CEPH,
    levels,
    service,
    switch,
)

__all__ = ["SERVICE"]

SERVICE = Service(
    service="compute",
    name="nova",
    group="openstack",
    resource=Nova,
    charts=(
        Chart(
            "libvirt",
            libvirt.values,
            images=lambda settings: {"libvirt": "libvirt"},
            daemonsets=(libvirt.NAME,),
            options=("libvirtd", "qemu"),
        ),
        Chart(
            "nova",
            chart_values,
            images=lambda settings: {"nova": "nova", "nova_db_sync": "nova", "nova_compute": "nova-compute"},
            daemonsets=("compute",),
            in_ceph=("compute",),
            options=("nova", "nova_api_uwsgi", "nova_metadata_uwsgi", "sshd", "ssh", "logging"),
            listens=(
                Listener("api-osapi", (PORT,), name="nova", sources=("horizon", "keystoneclient", INGRESS, OPERATOR)),
                Listener("api-metadata", (METADATA_PORT,), name="nova-metadata"),
                Listener("novncproxy", (NOVNC_PORT,), sources=(INGRESS,)),
                *(Listener(client) for client in ("conductor", "scheduler")),
            ),
            calls=(
                *("mariadb", "rabbitmq", "memcached", "keystone"),
                *("glance", "placement", "neutron", "cinder", "barbican"),
            ),
            host_calls={
                COMPUTE: (
                    *("rabbitmq", "keystone", "glance", "placement", "nova", "neutron"),
                    *("cinder", "barbican", "ceph"),
                ),
            },
        ),
    ),
    secrets=lambda context: (Secret(f"{context.name}-ssh", generated=(), keypairs=("ssh",)),),
    contracts=contracts,
    certificates=certificates,
    settings=NovaSettings,
    features=Features(NovaFeatures, "The compute service."),
    from_cloud=lambda cloud: {
        "messaging_instance": cloud.bus("nova"),
        "services": sorted(cloud.services),
        "cleanup": cloud.cleanup("nova"),
    },
    node_labels=(CONTROL_PLANE, COMPUTE),
    modules={COMPUTE: ("kvm",)},
    conf_files={"nova": "nova"},
    pod_conditions=libvirt.pod_conditions,
    agents=(NodeAgent("nova-compute", "compute", COMPUTE),),
    agent_list=AgentList(
        "/v2.1/os-services", "services", lambda each: (each["state"] == "up", each["status"] == "enabled")
    ),
    # Without Placement it starts no server but keeps existing ones: Placement may be removed and added again.
    requires=lambda settings: (
        *("database", "messaging", "identity", "networking"),
        *(("ceph",) if settings.in_ceph else ()),
    ),
    lost_with_object="access to the virtual machines of {}, which keep running",
    driver=lambda settings: settings.images.backend,
    presets=("core", "compute"),
    public=(Public("nova"), Public("novncproxy")),
    logging=True,
    cleanup=True,
    own_bus=True,
    section="nova",
    programs={
        "apiServiceTemplate": "api-osapi",
        "metadataServiceTemplate": "api-metadata",
        "schedulerServiceTemplate": "scheduler",
        "cellTemplates.cell1.conductorServiceTemplate": "conductor",
        "cellTemplates.cell1.noVNCProxyServiceTemplate": "novncproxy",
    },
    tested={
        "features.services": service("compute", UP, SMALL_CLOUD),
        "features.logging.nova.level": levels(UP),
        "features.messaging.components_with_dedicated_messaging": {"compute": UP},
        "features.database.cleanup.nova.enabled": switch(RENDERED_ONLY),  # weekly, so no test waits for it
        "features.nova.images.backend": {
            "local": WITHOUT_CEPH,
            "qcow2": RENDERED_ONLY,
            "raw": RENDERED_ONLY,
            "ceph": IN_CEPH,
        },
        "features.nova.console.novnc.enabled": switch(SMOKE),
        "features.nova.libvirt.tls.enabled": switch("test_live_migration"),
    },
)
