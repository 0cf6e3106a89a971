"""The hypervisor of compute nodes: values of the chart libvirt, its certificates, and the reports of its pods.

Without working KVM, a node uses emulation, which is slow but correct. This is no fault of the service, so the condition
that reports it does not affect Ready.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from stackwright.core.conditions import Condition, done
from stackwright.core.plan import Object
from stackwright.services.ceph.clients import ceph_secret
from stackwright.services.context import COMPUTE, Context, Values, placed
from stackwright.services.declaration import Certificate

NAME = "libvirt"
TLS, QEMU_TLS = "libvirt-tls", "libvirt-qemu-tls"
SUBJECT = "stackwright-libvirt"  # by which hypervisors identify each other
CHECK = "kvm-check"  # the init container that tests whether KVM works


def values(context: Context) -> Values:
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(COMPUTE, NAME),
        "secrets": {
            "tls": {"libvirt": TLS, "qemu": QEMU_TLS},
            "ceph": _clients(context),
        },
        "conf": {
            "live_migration_interface": context.settings.live_migration_interface,
            # Clients have root's rights on the node; other programs have certificates from the same CA.
            "libvirtd": {"listen_tls": True, "listen_tcp": False, "tls_allowed_dn_list": [f"CN={SUBJECT}"]},
            "qemu": {"migrate_tls_force": context.settings.libvirt.tls.enabled, "vnc_tls": True},
        },
    }


def _clients(context: Context) -> dict[str, str]:
    """Ceph clients whose keys QEMU uses for disks: Nova's for its own disks, Cinder's for volumes."""
    settings = context.settings
    names = [
        *(["nova"] if settings.in_ceph else []),
        *(["cinder"] if {"block-storage", "ceph"} <= set(settings.services) else []),
    ]
    return {name: ceph_secret(name) for name in names}


def certificates(context: Context) -> tuple[Certificate, ...]:
    """Two certificates for all compute nodes, which are clients and servers of each other during live migration.

    QEMU has its own certificate: a virtual machine that escapes can read its key, and must not be accepted as libvirt.
    Without TLS of live migration both are still needed: libvirt listens only with TLS, and QEMU has consoles.
    """
    nodes = context.labelled(COMPUTE)
    if not nodes:
        return ()
    names = tuple(sorted(node.name for node in nodes))
    # Only the node has the address for migrations, so its pod reports it. Until then, use the node's own address.
    reported = {str(answer["address"]) for pod in context.pods for _, answer in _answers(pod) if answer.get("address")}
    addresses = reported | {node.address for node in nodes if node.address}
    wanted = Certificate(TLS, names=names, addresses=tuple(sorted(addresses)), subject=SUBJECT)
    qemu = replace(wanted, name=QEMU_TLS, subject="stackwright-qemu")
    return wanted, qemu


def pod_conditions(pods: Iterable[Object]) -> tuple[Condition, ...]:
    """The condition from the termination messages of the check; empty before the first report."""
    found = {node: answer for pod in pods for node, answer in _answers(pod)}
    if not found:
        return ()
    emulating: dict[str, list[str]] = {}
    for node, answer in sorted(found.items()):
        if answer.get("virt_type") != "kvm":
            emulating.setdefault(str(answer.get("reason", "")), []).append(node)
    if not emulating:
        return (done("Hypervisors", "KVM works on all compute nodes", "Accelerated"),)
    causes = "; ".join(f"{', '.join(nodes)}: {reason}" for reason, nodes in sorted(emulating.items()))
    return (Condition("Hypervisors", False, "Emulated", f"Virtual machines are emulated, which is slow, on {causes}"),)


def _answers(pod: Object) -> Iterable[tuple[str, dict[str, object]]]:
    status = pod.get("status") or {}
    for container in status.get("initContainerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if container.get("name") != CHECK or ended.get("exitCode") != 0:
            continue
        try:
            answer = json.loads(ended.get("message") or "")
        except ValueError:
            continue
        if isinstance(answer, dict):
            yield str((pod.get("spec") or {}).get("nodeName", pod["metadata"]["name"])), answer
