"""Every field of the adopted schemas is known by name: supported, or rejected as not supported.

The lists name the fields of OpenStackDeployment (Rockoon 1.3), OpenStackControlPlane (openstack-k8s-operators v1beta1)
and the kinds of Cluster API Provider OpenStack (v1alpha1, v1beta1, v1beta2). `<…>` stands for any name, `[]` for an
item of a list, `{a, b}` for several fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.errors import NOT_SUPPORTED
from stackwright.cli.manifests.load import check
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.cloud.registry import BY_KIND
from stackwright.services.registry import BY_SERVICE

CLEANED = "{barbican, masakari, nova, cinder, glance, heat, aodh, manila, horizon}"
POLICIES = (
    "{aodh, barbican, cinder, designate, glance, gnocchi, heat, ironic, keystone, masakari, manila, neutron, "
    "nova, octavia, panko, placement}"
)
DEPLOYMENT = f"""
openstack_version
preset
size
public_domain_name
internal_domain_name
region_name
draft
artifacts.{{images_base_url, binary_base_url}}
local_volume_storage_class
persistent_volume_storage_class
common.{{charts, infra, openstack}}.{{releases, values, repo, repositories}}
services
nodes
migration.ingress.state
migration.neutron.{{deploy_main_service, ovs_ovn_migration}}
timeouts.application_readiness.{{nova, neutron}}.{{timeout, delay}}
features.services
features.network_policies.enabled
features.policies.strict_admin.enabled
features.policies.{POLICIES}
features.ssl.public_endpoints.{{ca_cert, api_cert, api_key}}
features.ssl.tls_proxy.enabled
features.glance.backends.{{rbd, cinder, file}}.<name>.default
features.glance.backends.file.<name>.pvc.{{size, storage_class_name}}
features.glance.signature.{{enabled, certificate_validation}}
features.database.cleanup.{CLEANED}.{{enabled, schedule, age, batch}}
features.database.backup.{{enabled, schedule_time, backup_type, backups_to_keep, full_backup_cycle, backend}}
features.database.backup.pv_nfs.{{server, path}}
features.database.backup.sync_remote.{{enabled, remotes}}
features.database.backup.encryption.enabled
features.telemetry.mode
features.designate.backend.{{type, protocol, external_ip}}
features.barbican.backends.vault.{{enabled, approle_role_id, approle_secret_id, vault_url, namespace}}
features.barbican.backends.vault.{{kv_mountpoint, use_ssl, ssl_ca_crt_file}}
features.cloudprober.discovery.interval
features.nova.live_migration_interface
features.nova.allocation_ratios.{{cpu, disk, ram}}
features.nova.vcpu_type
features.nova.libvirt.tls.enabled
features.nova.console.spice.enabled
features.nova.console.novnc.enabled
features.nova.console.novnc.tls.enabled
features.nova.images.backend
features.nova.images.encryption.{{enabled, cipher, key_size}}
features.nova.images.lvm.volume_group
features.horizon.default_theme
features.horizon.themes[].{{name, url, sha256summ, description, enabled}}
features.horizon.motd.<name>.{{level, message, beforeLogin, afterLogin}}
features.keystone.users.admin.{{project_name, user_domain_name, project_domain_name, default_domain_id}}
features.keystone.federation.openid.{{enabled, oidc, oidc_auth_type}}
features.keystone.federation.openid.providers.<name>.{{issuer, oidc_ca, enabled, mapping, oauth2, metadata}}
features.keystone.keycloak.{{enabled, url, oidc}}
features.keystone.domain_specific_configuration.{{enabled, ks_domains, domains}}
features.neutron.tunnel_interface
features.neutron.backend
features.neutron.{{dns_servers, tenant_network_types}}
features.neutron.dvr.enabled
features.neutron.external_networks[].{{physnet, bridge, network_types, interface, vlan_ranges, mtu}}
features.neutron.floating_network.{{enabled, name, physnet, network_type, segmentation_id}}
features.neutron.floating_network.subnet.{{range, pool_start, pool_end, gateway, name}}
features.neutron.floating_network.router.name
features.neutron.extensions.{{vpnaas, dynamic_routing, portprober, trunk}}.enabled
features.neutron.baremetal.ngs.{{hardware, devices}}
features.neutron.bgpvpn.{{enabled, as_number, control_interface, dataplane_interface, peers, evpn_vxlan_port}}
features.neutron.bgpvpn.route_reflector.{{enabled, neighbor_subnets}}
features.neutron.ipsec.enabled
features.messaging.components_with_dedicated_messaging
features.messaging.notifications.external.{{enabled, topics}}
features.ironic.{{provisioning_interface, baremetal_network_name}}
features.ironic.networks.baremetal.<name>
features.ironic.agent_images.{{base_url, initramfs, kernel}}
features.ironic.console.serial.enabled
features.octavia.default_provider
features.octavia.lb_network.{{name, subnets}}
features.stacklight.{{enabled, user}}
features.cinder.volume.enabled
features.cinder.volume.backends.<name>.{{type, enabled, create_volume_type}}
features.cinder.volume.backends.<name>.values.conf
features.cinder.backup.enabled
features.cinder.backup.drivers.<name>.{{type, enabled, endpoint_url, store_bucket, store_access_key, store_secret_key}}
features.cinder.backup.drivers.<name>.backup_share
features.manila.share.backends.<name>.{{type, values, enabled, create_share_type}}
features.masakari.monitors.introspective.{{enabled, guest_monitoring_interval, guest_monitoring_timeout}}
features.masakari.monitors.introspective.guest_monitoring_failure_threshold
features.logging.{{aodh, barbican, cinder, designate, glance, gnocchi, heat, ironic, keystone}}.level
features.logging.{{masakari, manila, neutron, nova, octavia, panko, placement, horizon}}.level
features.logging.cadf.{{enabled, driver}}
nodes.rack::a.features.cinder.volume.backends.<name>.lvm.volume_group
nodes.rack::a.features.nova.{{allocation_ratios, live_migration_interface, vcpu_type, images}}
nodes.rack::a.features.neutron.tunnel_interface
nodes.rack::a.features.neutron.sriov.enabled
nodes.rack::a.features.neutron.sriov.nics[].{{device, num_vfs, physnet, mtu, trusted, hooks}}
nodes.rack::a.features.neutron.dpdk.{{enabled, driver, socket_memory, bridges, nics, bonds, hugepages}}
nodes.rack::a.features.neutron.bgpvpn.enabled
nodes.rack::a.services.load-balancer.octavia.<daemonset>.values
nodes.rack::a.services.metering.ceilometer.<daemonset>.values
nodes.rack::a.services.metric.gnocchi.<daemonset>.values
services.{{identity, image, compute, networking, placement, block-storage, dashboard, object-storage, database}}
services.{{messaging, memcached, coordination, ingress, orchestration, load-balancer, dns, key-manager, baremetal}}
services.{{instance-ha, shared-file-system, alarming, event, metering, metric, metric-storage, redis, app-gateway}}
services.{{descheduler, dynamic-resource-balancer, cloudprober, tempest, stepler}}
"""
# In nearly every template of a service.
SHARED = """
{containerImage, secret, passwordSelectors.service, serviceUser, databaseInstance, databaseAccount, memcachedInstance}
{messagingBus.cluster, messagingBus.user, messagingBus.vhost, notificationsBus.cluster, notificationsBus.user}
{notificationsBus.vhost, rabbitMqClusterName, notificationsBusInstance, customServiceConfig, extraMounts[].name}
{customServiceConfigSecrets, defaultConfigOverwrite, override.service.public.metadata, override.service.internal.spec}
{override.service.public.endpointURL, override.probes, networkAttachments, nodeSelector, resources, topologyRef.name}
{topologyRef.namespace, tls.api.public.secretName, tls.api.internal.secretName, tls.caBundleSecretName}
{extraMounts[].region, extraMounts[].extraVol, apiTimeout, preserveJobs, auth.applicationCredentialSecret}
"""
PROGRAM = (
    "{replicas, containerImage, customServiceConfig, customServiceConfigSecrets, networkAttachments, nodeSelector}"
)
PROGRAM_MORE = "{resources, topologyRef, defaultConfigOverwrite, override, tls}"
KEYSTONE_MORE = """
{replicas, adminUser, adminProject, region, enableSecureRBAC, fernetMaxActiveKeys, fernetRotationDays}
{trustFlushSchedule, trustFlushArgs, trustFlushSuspend, httpdCustomization.processNumber}
{httpdCustomization.customConfigSecret, federatedRealmConfig, externalKeystoneAPI, passwordSelectors.admin}
"""
GLANCE_MORE = """
{storage.storageRequest, storage.storageClass, storage.external, keystoneEndpoint, quotas, dbPurge, imageCache}
glanceAPIs.default.{type, replicas, storage, imageCache, override, tls, apiTimeout, resources, networkAttachments}
glanceAPIs.default.{nodeSelector, topologyRef, customServiceConfig, customServiceConfigSecrets, containerImage}
glanceAPIs.edge.{type, replicas}
"""
NOVA_MORE = f"""
{{apiDatabaseInstance, apiDatabaseAccount, apiMessageBusInstance, keystoneInstance, apiTimeout}}
{{apiContainerImageURL, conductorContainerImageURL, metadataContainerImageURL, novncproxyContainerImageURL}}
{{schedulerContainerImageURL, computeContainerImageURL}}
{{apiServiceTemplate, schedulerServiceTemplate, metadataServiceTemplate}}.{PROGRAM}
{{apiServiceTemplate, schedulerServiceTemplate, metadataServiceTemplate}}.{PROGRAM_MORE}
metadataServiceTemplate.enabled
cellTemplates.{{cell0, cell1}}.{{hasAPIAccess, cellDatabaseInstance, cellDatabaseAccount, cellMessageBusInstance}}
cellTemplates.{{cell0, cell1}}.{{memcachedInstance, messagingBus, nodeSelector, topologyRef, dbPurge}}
cellTemplates.cell1.dbPurge.{{archiveAge, purgeAge, schedule}}
cellTemplates.{{cell0, cell1}}.{{conductorServiceTemplate, noVNCProxyServiceTemplate}}.{PROGRAM}
cellTemplates.{{cell0, cell1}}.metadataServiceTemplate.{PROGRAM}
cellTemplates.cell1.{{conductorServiceTemplate, noVNCProxyServiceTemplate}}.{PROGRAM_MORE}
cellTemplates.cell1.noVNCProxyServiceTemplate.enabled
cellTemplates.cell1.novaComputeTemplates.<name>.computeDriver
cellTemplates.cell2.hasAPIAccess
"""
GALERA = """
{replicas, storageClass, storageRequest, secret, rootDatabaseAccount, tls, disableNonTLSListeners, logToDisk}
{containerImage, customServiceConfig, nodeSelector, topologyRef, resources, override}
"""
RABBIT = """
{replicas, persistence.storage, persistence.storageClassName, resources.requests, resources.limits, queueType}
{targetVersion, podOverride.services, tls, rabbitmq.additionalConfig, rabbitmq.plugins, containerImage, nodeSelector}
{topologyRef, override, delayStartSeconds, terminationGracePeriodSeconds, skipPostDeploySteps, affinity, tolerations}
"""
MEMCACHED = "{replicas, cacheSize, maxConn, tls, containerImage, nodeSelector, topologyRef, resources, override}"
TLS = "{ca.duration, ca.renewBefore, ca.customIssuer, cert.duration, cert.renewBefore}"
APPLICATION_CREDENTIAL = "{enabled, expirationDays, gracePeriodDays, roles, unrestricted, accessRules}"
OTHERS = "{cinder, ironic, manila, octavia, swift, watcher, telemetry, redis, dns, ovn}"


def below(prefix: str, lines: str) -> str:
    return "\n".join(f"{prefix}.{line}" for line in lines.splitlines() if line.strip())


CONTROL_PLANE = "\n".join(
    (
        "secret",
        "storageClass",
        "nodeSelector",
        "topologyRef.{name, namespace}",
        "{messagingBus, notificationsBus}.{cluster, user, vhost}",
        "notificationsBusInstance",
        "extraMounts[].{name, region, extraVol}",
        f"applicationCredential.{APPLICATION_CREDENTIAL}",
        f"tls.ingress.enabled\ntls.ingress.{TLS}\ntls.podLevel.enabled",
        f"tls.podLevel.{{internal, libvirt, ovn}}.{TLS}\ntls.caBundleSecretName",
        f"{OTHERS}.{{enabled, template, templates, apiOverride}}",
        "heat.cnfAPIOverride.{route, tls.secretName}\nironic.inspectorOverride\ncinder.{uniquePodNames, serviceName}",
        "telemetry.{aodhApiOverride, cloudKittyApiOverride, prometheusOverride, alertmanagerOverride}",
        "openstackclient.template.{nodeSelector, containerImage}",
        "{keystone, glance, placement, neutron, nova, heat, barbican, horizon, galera, rabbitmq, memcached}.enabled",
        "designate.enabled",
        "{keystone, placement, neutron, nova, heat, barbican, designate, horizon}.apiOverride.{route, tls.secretName}",
        f"{{keystone, glance, placement, neutron, nova, heat}}.applicationCredential.{APPLICATION_CREDENTIAL}",
        f"{{barbican, designate}}.applicationCredential.{APPLICATION_CREDENTIAL}",
        "glance.{uniquePodNames, serviceName, apiOverrides.default.route}",
        "nova.cellOverride.cell1.noVNCProxy.route",
        *(
            below(f"{name}.template", SHARED)
            for name in ("keystone", "glance", "placement", "neutron", "nova", "heat", "barbican", "designate")
        ),
        below("keystone.template", KEYSTONE_MORE),
        below("glance.template", GLANCE_MORE),
        "placement.template.replicas",
        "neutron.template.{replicas, corePlugin, ml2MechanismDrivers, tls.ovn.secretName}",
        below("nova.template", NOVA_MORE),
        f"heat.template.{{heatAPI, heatCfnAPI, heatEngine}}.{PROGRAM}",
        f"heat.template.{{heatAPI, heatCfnAPI, heatEngine}}.{PROGRAM_MORE}",
        f"barbican.template.{{barbicanAPI, barbicanWorker, barbicanKeystoneListener}}.{PROGRAM}",
        f"barbican.template.{{barbicanAPI, barbicanWorker, barbicanKeystoneListener}}.{PROGRAM_MORE}",
        "barbican.template.{simpleCryptoBackendSecret, enabledSecretStores, globalDefaultSecretStore}",
        "barbican.template.pkcs11.{loginSecret, clientDataSecret, clientDataPath}",
        f"designate.template.{{designateAPI, designateCentral, designateMdns, designateProducer}}.{PROGRAM}",
        f"designate.template.{{designateAPI, designateCentral, designateMdns, designateProducer}}.{PROGRAM_MORE}",
        f"designate.template.{{designateWorker, designateBackendbind9, designateUnbound}}.{PROGRAM}",
        f"designate.template.{{designateWorker, designateBackendbind9, designateUnbound}}.{PROGRAM_MORE}",
        "designate.template.{backendType, backendMdnsServerProtocol, nsRecords[].hostname, nsRecords[].priority}",
        "designate.template.{bindType, designateNetworkAttachment, redisServiceName}",
        "horizon.template.{replicas, secret, memcachedInstance, customServiceConfig, defaultConfigOverwrite, override}",
        "horizon.template.{containerImage, nodeSelector, topologyRef, resources, tls, networkAttachments, extraMounts}",
        "horizon.template.{preserveJobs, customServiceConfigSecrets}",
        *(below(f"galera.templates.{name}", GALERA) for name in ("openstack", "openstack-cell1")),
        *(below(f"rabbitmq.templates.{name}", RABBIT) for name in ("rabbitmq", "rabbitmq-cell1", "rabbitmq-other")),
        *(below(f"memcached.templates.{name}", MEMCACHED) for name in ("memcached", "other")),
    )
)
PORT = """
{description, nameSuffix, trunk, adminStateUp, macAddress, hostID, vnicType, enablePortSecurity, tags}
{disablePortSecurity, propagateUplinkStatus, profile.ovsHWOffload, profile.trustedVF}
{network.id, network.filter.name, network.filter.description, network.filter.projectID, network.filter.tags}
network.filter.{tagsAny, notTags, notTagsAny}
fixedIPs[].{ipAddress, subnet.id, subnet.filter.ipVersion, subnet.filter.gatewayIP, subnet.filter.cidr}
fixedIPs[].subnet.filter.{ipv6AddressMode, ipv6RAMode}
securityGroups[].{id, filter.name}
allowedAddressPairs[].{ipAddress, macAddress}
valueSpecs[].{name, key, value}
"""
SERVER_FIELDS = f"""
identityRef.{{type, name, cloudName, region}}
image.{{id, filter.name, filter.tags, imageRef.name}}
flavor
flavorID
sshKeyName
rootVolume.{{sizeGiB, type, availabilityZone.from, availabilityZone.name}}
additionalBlockDevices[].{{name, sizeGiB, storage.type, storage.volume.type, storage.volume.availabilityZone.from}}
securityGroups[].{{id, filter.name}}
serverGroup.{{id, filter.name}}
schedulerHintAdditionalProperties[].{{name, value.type, value.bool, value.string, value.number}}
serverMetadata[].{{key, value}}
{{tags, trunk, configDrive}}
floatingIPPoolRef.{{apiGroup, kind, name}}
{below("ports[]", PORT)}
"""
SERVER = f"{SERVER_FIELDS}\navailabilityZone\nuserDataRef.name"
MACHINE = f"{SERVER_FIELDS}\n{{providerID, instanceID}}"
RULE = (
    "{name, description, direction, etherType, portRangeMin, portRangeMax, protocol, remoteGroupID, "
    "remoteIPPrefix, remoteManagedGroups}"
)
BALANCER = "{enabled, additionalPorts, allowedCIDRs, provider, network, subnets, availabilityZone, flavor, monitor}"
CLUSTER = f"""
identityRef.{{type, name, cloudName, region}}
managedSubnets[].{{cidr, dnsNameservers, allocationPools[].start, allocationPools[].end}}
{{subnets[], primarySubnet}}.{{id, filter.name}}
{{network, externalNetwork, router}}.{{id, filter.name}}
managedNetwork.{{mtu, enablePortSecurity}}
managedRouter.externalIPs[].{{fixedIP, subnet.id}}
enableExternalNetwork
apiServer.{{port, fixedIP, floatingIP, enableFloatingIP}}
{{apiServer.managedLoadBalancer, apiServerLoadBalancer}}.{BALANCER}
managedSecurityGroups.allowAllInClusterTraffic
managedSecurityGroups.{{allNodesSecurityGroupRules, clusterNodesSecurityGroupRules}}[].{RULE}
managedSecurityGroups.{{controlPlaneNodesSecurityGroupRules, workerNodesSecurityGroupRules}}[].{RULE}
tags
controlPlaneEndpoint.{{host, port}}
{{controlPlaneAvailabilityZones, controlPlaneOmitAvailabilityZone}}
bastion.{{enabled, spec.image.id, availabilityZone, floatingIP}}
{{networkMTU, disablePortSecurity, externalRouterIPs[].fixedIP, disableExternalNetwork}}
{{disableAPIServerFloatingIP, apiServerFloatingIP, apiServerFixedIP, apiServerPort}}
"""
POOL = """
{preAllocatedFloatingIPs, maxIPs, reclaimPolicy, identityRef.name, floatingIPNetwork.id}
"""
IDENTITY = """
{secretRef.name, secretRef.namespace, namespaceSelector.matchLabels}
namespaceSelector.matchExpressions[].{key, operator, values}
"""
LISTS = {
    "OpenStackDeployment": DEPLOYMENT,
    "OpenStackControlPlane": CONTROL_PLANE,
    "OpenStackServer": SERVER,
    "OpenStackMachine": MACHINE,
    "OpenStackMachineTemplate": below("template.spec", MACHINE.strip()),
    "OpenStackCluster": CLUSTER,
    "OpenStackClusterTemplate": below("template.spec", CLUSTER.strip()),
    "OpenStackFloatingIPPool": POOL,
    "OpenStackClusterIdentity": IDENTITY,
}


def expanded(text: str) -> Iterator[str]:
    """A line of a list → paths of fields, one each."""
    if found := re.search(r"\{([^{}]*)\}", text):
        for choice in found[1].split(","):
            yield from expanded(text[: found.start()] + choice.strip() + text[found.end() :])
    else:
        yield text


def paths(kind: str) -> list[str]:
    lines = [line.strip() for line in LISTS[kind].splitlines() if line.strip()]
    return [path for line in lines for path in expanded(line)]


def parts_of(path: str) -> list[str]:
    """`nodes.rack::a.x[].<name>` → nodes, rack::a, x, [], any."""
    parts = re.sub(r"\[\]", ".[]", path).split(".")
    return ["any" if part.startswith("<") else part for part in parts]


def holding(parts: list[str]) -> Any:
    """An object with nothing but the field at a path."""
    if not parts:
        return {}
    inner = holding(parts[1:])
    return [inner] if parts[0] == "[]" else {parts[0]: inner}


# Without these, some checks do not run.
NEEDED = {
    "OpenStackDeployment": {"openstack_version": "epoxy", "preset": "core", "size": "single"},
    "OpenStackControlPlane": {"secret": "osp-secret", "storageClass": ""},
}


def refused(kind: str, parts: list[str]) -> list[str]:
    """The errors of an object that has only one field."""
    resource = BY_KIND[kind].KIND
    meta = {"name": "thing", "namespace": "openstack"} if resource.namespaced else {"name": "thing"}
    spec = {**NEEDED.get(kind, {}), **holding(parts)}
    _, errors = check({"apiVersion": resource.api_version, "kind": kind, "metadata": meta, "spec": spec}, "openstack")
    return errors


def unknown(kind: str, parts: list[str]) -> list[str]:
    """The errors of a field because its name, or that of a parent, is unknown."""
    return [error for error in refused(kind, parts) if ": unknown" in error]


@pytest.mark.parametrize("kind", LISTS)
def test_every_field_of_the_reference_is_known(kind):
    assert {path: told for path in paths(kind) if (told := unknown(kind, parts_of(path)))} == {}


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *((kind, "zzz") for kind in LISTS),
        ("OpenStackDeployment", "features.zzz"),
        ("OpenStackDeployment", "features.nova.images.zzz"),
        ("OpenStackDeployment", "services.zzz"),
        ("OpenStackDeployment", "nodes.rack::a.services.zzz"),
        ("OpenStackControlPlane", "keystone.zzz"),
        ("OpenStackControlPlane", "keystone.template.zzz"),
        ("OpenStackControlPlane", "placement.template.trustFlushSchedule"),
        ("OpenStackControlPlane", "nova.template.cellTemplates.cell1.conductorServiceTemplate.zzz"),
        ("OpenStackControlPlane", "rabbitmq.templates.rabbitmq.zzz"),
        ("OpenStackMachine", "ports[].zzz"),
        ("OpenStackCluster", "bastion.spec.zzz"),
    ],
)
def test_no_other_field_is_known(kind, path):
    assert unknown(kind, parts_of(path))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("OpenStackControlPlane", "keystone.template.auth"),
        ("OpenStackControlPlane", "keystone.template.trustFlushSchedule"),
        ("OpenStackControlPlane", "nova.template.cellTemplates.cell1.dbPurge"),
        ("OpenStackControlPlane", "neutron.template.messagingBus.vhost"),
        ("OpenStackControlPlane", "rabbitmq.templates.rabbitmq.affinity"),
        ("OpenStackDeployment", "nodes.rack::a.services.stepler"),
        ("OpenStackDeployment", "features.logging.panko"),
    ],
)
def test_a_rare_field_is_refused_as_not_supported(kind, path):
    assert f"spec.{path}: {NOT_SUPPORTED}; remove it" in refused(kind, parts_of(path))


def test_the_supported_names_are_listed_where_any_name_is_allowed():
    told = refused("OpenStackControlPlane", ["galera", "templates", "openstack-cell1"])
    assert told == [f"spec.galera.templates.openstack-cell1: {NOT_SUPPORTED}; allowed: openstack"]


def test_an_unsupported_service_is_reported_together_with_an_unknown_one():
    (told,) = refused("OpenStackDeployment", ["services", "stepler"])
    assert told == f"spec.services: stepler {NOT_SUPPORTED}; remove it"


@pytest.mark.parametrize("name", ["cloudprober", "~app-gateway", "stepler"])
def test_a_requested_service_of_the_reference_is_reported_as_unsupported(name):
    spec = {**NEEDED["OpenStackDeployment"], "features": {"services": [name]}}
    manifest = {"apiVersion": "lcm.mirantis.com/v1alpha1", "kind": "OpenStackDeployment", "metadata": {"name": "a"}}
    (told,) = check({**manifest, "spec": spec}, "openstack")[1]
    first = min(BY_SERVICE)
    assert told.startswith(f"spec.features.services[0]: {name!r} {NOT_SUPPORTED}; allowed: {first!r}, ")


@pytest.mark.parametrize("kind", ["OpenStackVersion", "TransportURL", "NodeMaintenanceRequest", "KeystoneAPI"])
def test_a_kind_of_the_reference_is_not_supported(kind):
    (told,) = check({"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "a"}}, "openstack")[1]
    assert told.startswith(f"kind: {kind} {NOT_SUPPORTED}; allowed: ")
    (told,) = check({"apiVersion": "x/v1", "kind": f"{kind}s", "metadata": {"name": "a"}}, "openstack")[1]
    assert told.startswith(f"kind: unknown kind '{kind}s'; ")


def test_an_empty_override_of_routes_is_accepted() -> None:
    """The documentation of the reference has it in its examples."""
    spec = {
        "secret": "osp-secret", "storageClass": "", "notificationsBusInstance": "rabbitmq",
        "galera": {}, "memcached": {}, "keystone": {"apiOverride": {"route": {}}}, "horizon": {"apiOverride": {}},
    }  # fmt: skip
    OpenStackControlPlaneSpec.model_validate(spec)
    with pytest.raises(ValidationError, match=NOT_SUPPORTED):
        OpenStackControlPlaneSpec.model_validate(spec | {"keystone": {"apiOverride": {"route": {"spec": {}}}}})
