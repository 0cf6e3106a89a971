"""Temporary projects and everything in them, with the administrator's rights: smoke.tenant.Projects."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.client import connect
from stackwright.core.openstack.deployed.access import Access
from stackwright.smoke.openstack.computing import ComputingApi
from stackwright.smoke.openstack.errors import explained
from stackwright.smoke.openstack.key_manager import KeyManagerApi
from stackwright.smoke.openstack.names import NamesApi
from stackwright.smoke.openstack.networking import NetworkingApi
from stackwright.smoke.openstack.orchestration import OrchestrationApi
from stackwright.smoke.tenant import Leftover, Project, Tenant

if TYPE_CHECKING:
    from openstack.connection import Connection

DOMAIN_ID, DOMAIN = "default", "Default"
ROLE = "member"


def administrator(access: Access, ca_file: str) -> Connection:
    """A client with the administrator's rights, over the public endpoints."""
    return connect({"auth_url": access.auth_url, **access.auth}, access.region, ca_file=ca_file)


def tenant(connection: Connection) -> Tenant:
    return Tenant(
        ComputingApi(connection),
        NetworkingApi(connection),
        OrchestrationApi(connection),
        KeyManagerApi(connection),
        NamesApi(connection),
    )


@explained
class ProjectsApi:
    def __init__(self, admin: Connection, access: Access, ca_file: str) -> None:
        self._admin = admin
        self._access = access
        self._ca_file = ca_file
        self._members: dict[str, Connection] = {}  # project → the administrator as its member

    @property
    def _identity(self) -> Any:
        return self._admin.identity

    def create(self, name: str, note: str) -> Project:
        made = self._identity.create_project(name=name, domain_id=DOMAIN_ID, description=note)
        return Project(str(made.id), name, note)

    def enter(self, project: Project) -> Tenant:
        identity = self._identity
        name, password = project.name, secrets.token_urlsafe(24)
        user = identity.create_user(
            name=name, domain_id=DOMAIN_ID, password=password, default_project_id=project.id, is_enabled=True
        )
        identity.assign_project_role_to_user(project.id, user, identity.find_role(ROLE, ignore_missing=False))
        auth = {**self._access.auth, "auth_url": self._access.auth_url}
        auth |= {"username": name, "password": password, "project_name": name}
        connection = connect(auth, self._access.region, ca_file=self._ca_file)
        connection.authorize()
        return tenant(connection)

    def named(self, prefix: str) -> list[Project]:
        found = self._identity.projects(domain_id=DOMAIN_ID)
        return [
            Project(str(each.id), str(each.name), str(each.description or ""))
            for each in found
            if str(each.name).startswith(prefix)
        ]

    def leftovers(self, project: Project) -> list[Leftover]:
        users = [str(user.id) for user in self._identity.users(domain_id=DOMAIN_ID, name=project.name)]
        found = [*self._stacks(project), *self._compute(project, users), *self._network(project)]
        found += [*self._secrets(project), *self._zones(project)]
        found += [Leftover("image", str(e.id), str(e.name)) for e in self._admin.image.images(owner=project.id)]
        found += [Leftover("user", user, project.name) for user in users]
        return [*found, Leftover("project", project.id, project.name)]

    def _stacks(self, project: Project) -> Iterator[Leftover]:
        if "orchestration" in self._access.services:
            for stack in self._inside(project).orchestration.stacks():
                id_ = f"{project.id}/{project.name}/{stack.id}"
                yield Leftover("stack", id_, str(stack.name), going=stack.status == "DELETE_IN_PROGRESS")

    def _secrets(self, project: Project) -> Iterator[Leftover]:
        if "key-manager" in self._access.services:
            api: Any = self._inside(project).key_manager
            for order in api.orders():
                yield Leftover("order", f"{project.id}/{project.name}/{order.order_id}", project.name)
            for secret in api.secrets():
                yield Leftover("secret", f"{project.id}/{project.name}/{secret.secret_id}", str(secret.name))

    def _zones(self, project: Project) -> Iterator[Leftover]:
        if "dns" in self._access.services:
            api: Any = self._inside(project).dns
            for zone in api.zones():
                going = (zone.action, zone.status) == ("DELETE", "PENDING")
                yield Leftover("zone", f"{project.id}/{project.name}/{zone.id}", str(zone.name), going=going)

    def _inside(self, project: Project) -> Connection:
        """The administrator as a member of a project: Heat, Barbican, Designate list it to members only."""
        if project.id not in self._members:
            identity = self._identity
            role = identity.find_role(ROLE, ignore_missing=False)
            identity.assign_project_role_to_user(project.id, self._admin.current_user_id, role)
            auth = {**self._access.auth, "auth_url": self._access.auth_url, "project_name": project.name}
            auth["project_domain_name"] = DOMAIN
            self._members[project.id] = connect(auth, self._access.region, ca_file=self._ca_file)
        return self._members[project.id]

    def _compute(self, project: Project, users: list[str]) -> Iterator[Leftover]:
        compute: Any = self._admin.compute
        for server in compute.servers(all_projects=True, project_id=project.id):
            yield Leftover("server", str(server.id), str(server.name), going=server.task_state == "deleting")
        for user in users:
            for key in compute.keypairs(user_id=user):
                yield Leftover("keypair", f"{user}/{key.name}", str(key.name))
        for flavor in compute.flavors():
            if str(flavor.name).startswith(f"{project.name}-"):
                yield Leftover("flavor", str(flavor.id), str(flavor.name))

    def _network(self, project: Project) -> Iterator[Leftover]:
        network: Any = self._admin.network
        mine = {"project_id": project.id}
        for ip in network.ips(**mine):
            yield Leftover("floating IP", str(ip.id), str(ip.floating_ip_address))
        for router in network.routers(**mine):
            yield Leftover("router", str(router.id), str(router.name))
        for port in network.ports(**mine):
            if not str(port.device_owner or "").startswith("network:"):  # deleted with their router or network
                yield Leftover("port", str(port.id), str(port.name))
        for each in network.networks(**mine):
            yield Leftover("network", str(each.id), str(each.name))
        # List all: for a list of one project, Neutron would first create the project's default group each time.
        for group in network.security_groups():
            if group.project_id == project.id:
                yield Leftover("security group", str(group.id), str(group.name))

    def delete(self, thing: Leftover) -> None:
        compute, network = self._admin.compute, self._admin.network
        identity, image = self._identity, self._admin.image
        delete: dict[str, Callable[[str], Any]] = {
            "stack": lambda id_: self._delete_inside(id_, lambda inside: inside.orchestration.delete_stack),
            "order": lambda id_: self._delete_inside(id_, lambda inside: inside.key_manager.delete_order),
            "secret": lambda id_: self._delete_inside(id_, lambda inside: inside.key_manager.delete_secret),
            "zone": lambda id_: self._delete_inside(id_, lambda inside: inside.dns.delete_zone),
            "server": compute.delete_server,
            "keypair": self._delete_keypair,
            "flavor": compute.delete_flavor,
            "floating IP": network.delete_ip,
            "router": self._delete_router,
            "port": network.delete_port,
            "network": network.delete_network,
            "security group": network.delete_security_group,
            "image": image.delete_image,
            "user": identity.delete_user,
            "project": identity.delete_project,
        }
        delete[thing.kind](thing.id)

    def _delete_keypair(self, id_: str) -> None:
        user, _, name = id_.partition("/")
        self._admin.compute.delete_keypair(name, user_id=user)

    def _delete_inside(self, id_: str, delete: Callable[[Any], Callable[[str], Any]]) -> None:
        project, name, thing = id_.split("/")
        delete(self._inside(Project(project, name)))(thing)

    def _delete_router(self, id_: str) -> None:
        network: Any = self._admin.network
        for port in network.ports(device_id=id_):
            if str(port.device_owner) != "network:router_gateway":
                network.remove_interface_from_router(id_, port=port.id)
        network.delete_router(id_)
