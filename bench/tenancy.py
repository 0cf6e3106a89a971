"""Shared by benches of virtual machines: a separate project in the running cloud, removed with its content."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.options import BenchError, say
from stackwright.adapters.openstack.transport.client import connect
from stackwright.core.objects import secret_data
from stackwright.core.openstack.deployed.access import ADMIN_SECRET, TLS_SECRET, Access, NoAccess, access
from stackwright.local.config import LocalCluster
from stackwright.local.image.guest import guest_image
from stackwright.local.kubernetes import api
from stackwright.smoke import leftovers
from stackwright.smoke.host import RealHost
from stackwright.smoke.openstack.projects import ProjectsApi, administrator, tenant
from stackwright.smoke.stage import GUEST_IMAGE, Stage
from stackwright.smoke.tenant import Flavor, Project, Rule, Tenant

CLOUDS = "/apis/lcm.mirantis.com/v1alpha1/openstackdeployments"
CIDR = "192.168.214.0/24"
PREFIX = "bench-"
UNLIMITED = {"instances": -1, "cores": -1, "ram": -1}


@dataclass(frozen=True)
class Ground:
    """name    of the project, and prefix of its resources
    client  a connection of openstacksdk, scoped to the project

    Ids of a server's requirements: image, flavor, network, group; external is the network of floating IPs.
    """

    name: str
    client: Any
    user: Tenant
    host: RealHost
    image: str
    flavor: str
    network: str
    group: str
    external: str


@contextmanager
def ground() -> Iterator[Ground]:
    """A project with a network, a router to the external network, and no server quota."""
    entry = entrance()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        ca = Path(folder, "ca.crt")
        ca.write_text(entry.ca)
        admin: Any = administrator(entry, str(ca))
        projects = ProjectsApi(admin, entry, str(ca))
        cleaner = Stage("bench", projects, tenant(admin), RealHost(ca), _guest, Path(folder))
        for left in projects.named(PREFIX):
            say(f"removing what {left.name} left")
            leftovers.remove(cleaner, left)
        name = f"{PREFIX}{secrets.token_hex(4)}"
        project = projects.create(name, f"python -m bench, process {os.getpid()}")
        try:
            yield _made(project, entry, admin, ca)
        finally:
            say("cleaning up")
            admin.compute.revert_quota_set(project.id)
            leftovers.remove(cleaner, project)


def entrance() -> Access:
    """Access to the only cloud of the local cluster."""
    client = api.of(LocalCluster.discover())
    if (said := client.unready()) is not None:
        raise BenchError(f"no local cluster answers: {said}; `stackwright up` makes one")
    clouds = (client.get(CLOUDS) or {}).get("items", [])
    if not clouds:
        raise BenchError("the local cluster has no cloud")
    where = f"/api/v1/namespaces/{clouds[0]['metadata']['namespace']}/secrets"
    admin, tls = (secret_data(client.get(f"{where}/{name}")) for name in (ADMIN_SECRET, TLS_SECRET))
    try:
        return access(clouds[0], admin, tls)
    except NoAccess as error:
        raise BenchError(str(error)) from None


def _made(project: Project, entry: Access, admin: Any, ca: Path) -> Ground:
    """The administrator gets a role in the project, so no other user is needed."""
    name = project.name
    identity = admin.identity
    identity.assign_project_role_to_user(project.id, admin.current_user_id, identity.find_role("admin"))
    admin.compute.update_quota_set(project.id, **UNLIMITED)
    client = connect({**entry.auth, "auth_url": entry.auth_url, "project_name": name}, entry.region, ca_file=str(ca))
    user = tenant(client)
    external = user.networking.external()
    if external is None:
        raise BenchError("the cloud has no external network")
    network, subnet = user.networking.network(name, CIDR)
    user.networking.router(name, external, subnet)
    image = user.computing.image(GUEST_IMAGE) or user.computing.upload(f"{name}-guest", _guest(), public=False)
    return Ground(
        name=name,
        client=client,
        user=user,
        host=RealHost(ca),
        image=image,
        flavor=tenant(admin).computing.flavor(Flavor(f"{name}-tiny", 1, 128, 1)),
        network=network,
        group=user.networking.group(name, (Rule("icmp"),)),
        external=external,
    )


def _guest() -> Path:
    return guest_image(LocalCluster.discover())
