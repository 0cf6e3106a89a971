"""The last step of `up`: a virtual machine that this machine reaches by ssh.

Its address is remembered in the state folder, so that a second `up` only checks the machine's ssh server.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from stackwright.core.objects import secret_data
from stackwright.core.openstack.deployed.access import ADMIN_SECRET, TLS_SECRET, Access, NoAccess, access
from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster
from stackwright.local.steps.context import Context

TITLE = "Virtual machine"
KEY = "demo"
CLOUDS = "/apis/lcm.mirantis.com/v1alpha1/openstackdeployments"
NEEDED = {"compute", "networking", "image", "identity", "ingress"}
BANNER = b"SSH-2.0-"


def hosting(ctx: Context) -> dict[str, Any] | None:
    """A cloud that can run a virtual machine that is reachable from this machine."""
    listed = ctx.api.get(CLOUDS) or {}  # None before the kind is installed
    clouds: list[dict[str, Any]] = listed.get("items", [])
    for found in clouds:
        services = set((found.get("status") or {}).get("services") or ())
        neutron = found["spec"].get("features", {}).get("neutron", {})
        if services >= NEEDED and neutron.get("floating_network", {}).get("enabled"):
            return found
    return None


def marker(cluster: LocalCluster) -> Path:
    return cluster.state / "demo.json"


def remembered(cluster: LocalCluster, found: dict[str, Any]) -> dict[str, str]:
    """The remembered virtual machine; empty if it was in another cloud, such as a deleted one of the same name."""
    try:
        known = dict(json.loads(marker(cluster).read_text()))
    except (OSError, ValueError):
        return {}
    return known if known.get("cloud") == found["metadata"]["uid"] else {}


def skipped(ctx: Context) -> str | None:
    if not (ctx.vm and ctx.cloud):
        return "--no-vm was given" if ctx.cloud else "--no-cloud was given"
    needed = ", ".join(sorted(NEEDED))
    return None if hosting(ctx) else f"no OpenStackDeployment has {needed} and features.neutron.floating_network"


def done(ctx: Context) -> bool:
    found = hosting(ctx)
    return found is not None and greets(remembered(ctx.cluster, found).get("address", ""))


def greets(address: str, patience: float = 1.0) -> bool:
    """Whether an ssh server sends its banner."""
    if not address:
        return False
    try:
        with socket.create_connection((address, 22), timeout=patience) as connection:
            return connection.recv(64).startswith(BANNER)
    except OSError:
        return False


def run(ctx: Context, report: Report) -> None:
    from stackwright.local.image.guest import guest_image
    from stackwright.smoke.demo import Demo
    from stackwright.smoke.host import RealHost
    from stackwright.smoke.ports import Failed
    from stackwright.smoke.tenant import CloudError

    found = hosting(ctx)
    assert found, "otherwise the step is done"
    marker(ctx.cluster).unlink(missing_ok=True)
    try:
        entry = _access(ctx, found)
        ca = write_ca(ctx.cluster, entry)
        demo = Demo(_tenant(entry, ca), RealHost(ca), lambda: guest_image(ctx.cluster), keys(ctx.cluster), report)
        server, address = demo.ensure()
    except (NoAccess, Failed, CloudError) as error:
        raise LocalError(f"The cloud is ready, but the virtual machine test failed: {error}") from None
    known = {"cloud": found["metadata"]["uid"], "server": server, "address": address}
    marker(ctx.cluster).write_text(json.dumps(known) + "\n")


def _tenant(entry: Access, ca: Path) -> Any:
    from stackwright.smoke.openstack.projects import administrator, tenant

    return tenant(administrator(entry, str(ca)))


def _access(ctx: Context, found: dict[str, Any]) -> Access:
    where = f"/api/v1/namespaces/{found['metadata']['namespace']}/secrets"
    admin, tls = (secret_data(ctx.api.get(f"{where}/{name}")) for name in (ADMIN_SECRET, TLS_SECRET))
    return access(found, admin, tls)


def keys(cluster: LocalCluster) -> Path:
    return cluster.state / "ssh"


def ca_file(cluster: LocalCluster) -> Path:
    """CA certificate of the local cloud's public endpoints, for clients on this machine."""
    return cluster.state / "ca.crt"


def write_ca(cluster: LocalCluster, entry: Access) -> Path:
    path = ca_file(cluster)
    if not path.exists() or path.read_bytes() != entry.ca.encode():
        path.write_text(entry.ca)
    return path


def summary(ctx: Context) -> list[str]:
    """Hints for the use of the cloud, at the end of `up`."""
    if ctx.kubeconfig or ctx.bare or (found := hosting(ctx)) is None:
        return []
    from stackwright.smoke.stage import GUEST_USER

    lines = []
    if address := remembered(ctx.cluster, found).get("address"):
        key = keys(ctx.cluster) / KEY
        unknown = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
        lines.append(f"Virtual machine:  ssh -i {key} {unknown} {GUEST_USER}@{address}")
    if "dashboard" in found["status"]["services"]:
        from stackwright.services.registry import PUBLIC

        lines.append(f"Dashboard:        https://{PUBLIC['dashboard'].host}.{found['spec']['public_domain_name']}")
    lines.append("Command line:     stackwright openrc --write; openstack --os-cloud stackwright server list")
    return lines
