"""Facts of a cloud → tempest.conf. Pure.

The file does not contain the administrator's password: oslo.config reads it from the environment (`PASSWORDS`).

All requests use the public endpoints, over verified TLS, like the cloud's users, including the ingress.
"""

from __future__ import annotations

from tempest.facts import Facts

HOME = "/var/lib/tempest"
CA = "/etc/stackwright/ca.crt"
PASSWORDS = ("OS_AUTH__ADMIN_PASSWORD", "OS_HEAT_PLUGIN__PASSWORD", "OS_HEAT_PLUGIN__ADMIN_PASSWORD")
PREFIX = "tempest"
"""Prefix of all resources that Tempest creates, by which they are found."""
USER = "stackwright"
RESELLER = "ResellerAdmin"
"""Users with this role may set quotas of accounts; the stage creates it."""
# Emulated processors are slow, and two of them share the CPUs that the cloud itself needs.
LIMIT = 300
# The guest has busybox. Tempest uses curl, and finds the config drive with blkid; these functions replace both.
# A dollar is doubled for oslo.config.
PROLOGUE = (
    "set -eu -o pipefail; PATH=$$PATH:/sbin:/usr/sbin; "
    'curl() { if [ "$$1" = -X ]; then wget -q -O - --post-data "$$4" "$$5"; else wget -q -O - "$$1"; fi; }; '
    'blkid() { findfs "LABEL=$$2"; };'
)

Options = dict[str, dict[str, object]]


def text(facts: Facts) -> str:
    lines: list[str] = []
    for section, found in options(facts).items():
        lines += [f"[{section}]", *(f"{name} = {_shown(value)}" for name, value in found.items()), ""]
    return "\n".join(lines)


def options(facts: Facts) -> Options:
    return {
        **_identity(facts),
        **_compute(facts),
        **_network(facts),
        **_storage(),
        **_stacks(facts),
        **_secrets(facts),
        **_rest(facts),
    }


def _identity(facts: Facts) -> Options:
    admin = facts.admin
    return {
        "auth": {
            "admin_username": admin["username"],
            "admin_project_name": admin["project_name"],
            "admin_user_domain_name": admin["user_domain_name"],
            "admin_project_domain_name": admin["project_domain_name"],
            "admin_domain_name": admin["user_domain_name"],
            "tempest_roles": "member",
            "use_dynamic_credentials": True,
            "create_isolated_networks": True,
        },
        "identity": {
            "uri_v3": f"{facts.url('identity')}/v3",
            "region": facts.region,
            "ca_certificates_file": CA,
            "auth_version": "v3",
            "v3_endpoint_type": "public",
        },
    }


def _compute(facts: Facts) -> Options:
    several = facts.computes > 1
    return {
        "compute": {
            "image_ref": facts.image,
            "image_ref_alt": facts.image,
            "flavor_ref": facts.flavor,
            "flavor_ref_alt": facts.larger,
            "min_compute_nodes": facts.computes,
            "build_timeout": LIMIT,
            "endpoint_type": "publicURL",
        },
        "compute-feature-enabled": {
            "resize": True,
            "cold_migration": several,
            "live_migration": several,
            "block_migration_for_live_migration": several,
            "vnc_console": True,
            "console_output": True,
            "config_drive": True,
            "metadata_service": True,
            "attach_encrypted_volume": False,
        },
        "validation": {
            "run_validation": True,
            "connect_method": "floating",
            "auth_method": "keypair",
            "image_ssh_user": USER,
            "image_alt_ssh_user": USER,
            "ssh_shell_prologue": PROLOGUE,
            "ping_timeout": LIMIT,
            "ssh_timeout": LIMIT,
        },
    }


def _network(facts: Facts) -> Options:
    return {
        "network": {
            "public_network_id": facts.external,
            "floating_network_name": facts.floating,
            "project_networks_reachable": False,
            "build_timeout": LIMIT,
            "endpoint_type": "publicURL",
        },
        "network-feature-enabled": {
            "api_extensions": ",".join(facts.extensions),
            "port_security": "port-security" in facts.extensions,
            "floating_ips": True,
        },
    }


def _storage() -> Options:
    """Options for a cloud with volumes in Ceph and backups in its object storage."""
    return {
        "volume": {
            "catalog_type": "volumev3",
            "endpoint_type": "publicURL",
            "build_timeout": LIMIT,
            "storage_protocol": "ceph",
            "backup_driver": "swift",
        },
        "volume-feature-enabled": {
            "multi_backend": False,
            "backup": True,
            "snapshot": True,
            "clone": True,
            "extend_attached_volume": True,
        },
        "object-storage": {
            "endpoint_type": "publicURL",
            "operator_role": "member",
            "reseller_admin_role": RESELLER,
        },
        "object-storage-feature-enabled": {"container_sync": False},
    }


def _stacks(facts: Facts) -> Options:
    """Options of the plug-in for Heat. Its tests run in the administrator's project."""
    admin = facts.admin
    if "orchestration" not in facts.services:
        return {}
    return {
        "heat_plugin": {
            "auth_url": f"{facts.url('identity')}/v3",
            "username": admin["username"],
            "admin_username": admin["username"],
            "project_name": admin["project_name"],
            "admin_project_name": admin["project_name"],
            "user_domain_name": admin["user_domain_name"],
            "project_domain_name": admin["project_domain_name"],
            "region": facts.region,
            "ca_file": CA,
            "image_ref": facts.image,
            "minimal_image_ref": facts.image,
            "instance_type": facts.flavor,
            "minimal_instance_type": facts.flavor,
            "floating_network_name": facts.floating,
            "build_timeout": LIMIT,
            "build_interval": 1,
        }
    }


def _secrets(facts: Facts) -> Options:
    """Options of the plug-in for Barbican, which the image does not have yet. Signatures of images are not enforced."""
    if "key-manager" not in facts.services:
        return {}
    return {
        "key_manager": {"region": facts.region},
        "enforce_scope": {"barbican": True},
        "image_signature_verification": {"enforced": False, "certificate_validation": False},
    }


def _rest(facts: Facts) -> Options:
    words = {"glance": "image", "nova": "compute", "neutron": "networking", "horizon": "dashboard"}
    words |= {"cinder": "block-storage", "swift": "object-storage", "heat": "orchestration", "barbican": "key-manager"}
    there = {service: word in facts.services for service, word in words.items()}
    return {
        "DEFAULT": {"resource_name_prefix": PREFIX, "log_file": f"{HOME}/tempest.log", "use_stderr": False},
        "oslo_concurrency": {"lock_path": f"{HOME}/lock"},
        "service-clients": {"http_timeout": 120},
        "service_available": there,
        "image": {"build_timeout": LIMIT, "endpoint_type": "publicURL"},
        "dashboard": {"dashboard_url": f"{facts.url('dashboard')}/"},
    }


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
