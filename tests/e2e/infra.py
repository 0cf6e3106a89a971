"""Shared code of tests of servers and clusters in an OpenStack: objects of users, and all resources of a project."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from full import FullCloud
from harness import ROOT, eventually
from openstack.connection import Connection
from vms import DEMO, NAME, Vms

NAMESPACE = "demo"
KINDS = ("openstackservers", "openstackmachines", "openstackclusters", "openstackfloatingippools")
GROUP = "infrastructure.cluster.x-k8s.io"
PREFIX = "infra-"

Things = set[tuple[str, str]]


def example(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / f"examples/{name}.yaml").read_text()))


class Infra:
    """A namespace with objects, and the project with their resources. `sdk` is a user of the project."""

    def __init__(self, cloud: FullCloud, sdk: Any) -> None:
        self.cloud, self.sdk = cloud, sdk

    # ---- objects

    def kubectl(self, *words: str, **more: Any) -> str:
        return self.cloud.kubectl("-n", NAMESPACE, *words, **more)

    def get(self, kind: str, name: str) -> dict[str, Any]:
        return dict(json.loads(self.kubectl("get", f"{kind}.{GROUP}", name, "-o", "json")))

    def names(self, kind: str) -> set[str]:
        return set(self.kubectl("get", f"{kind}.{GROUP}", "-o", "jsonpath={.items[*].metadata.name}").split())

    def status(self, kind: str, name: str) -> dict[str, Any]:
        return dict(self.get(kind, name).get("status") or {})

    def patch(self, kind: str, name: str, **spec: Any) -> None:
        self.kubectl("patch", f"{kind}.{GROUP}", name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def ready(self, kind: str, name: str, limit: float = 240) -> float:
        return eventually(lambda: self.status(kind, name)["ready"] is True, limit=limit, pause=1)

    def told(self, kind: str, name: str, type_: str = "Ready") -> str:
        return next(str(c["reason"]) for c in self.status(kind, name)["conditions"] if c["type"] == type_)

    def delete(self, kind: str, *names: str) -> None:
        self.kubectl("delete", f"{kind}.{GROUP}", *(names or ("--all",)), "--wait=true", limit=300)

    def kill_operator(self) -> None:
        self.cloud.kubectl("delete", "pod", "-n", "stackwright", "-l", "application=stackwright", "--force")

    # ---- resources

    def there(self) -> Things:
        """All resources of the project, except those that the cloud itself creates."""
        compute, net, blocks = self.sdk.compute, self.sdk.network, self.sdk.block_storage
        mine = {"project_id": self.sdk.current_project_id}
        found = {("server", each.id) for each in compute.servers()}
        found |= {("port", each.id) for each in net.ports(**mine) if each.device_owner != "network:dhcp"}
        found |= {("group", e.id) for e in net.security_groups(**mine) if e.name != "default"}
        lists = {"trunk": net.trunks, "ip": net.ips, "network": net.networks, "router": net.routers}
        for what, listed in {**lists, "subnet": net.subnets}.items():
            found |= {(what, each.id) for each in listed(**mine)}
        return found | {("volume", each.id) for each in blocks.volumes()}

    def only(self, things: Things, limit: float = 60) -> None:
        """Wait until no other resource exists. Nova briefly lists a deleted server as DELETED."""
        eventually(lambda: self.there() == things, limit=limit, pause=1)


@contextmanager
def namespace(cloud: FullCloud, secret: str) -> Iterator[None]:
    """A namespace with credentials of an OpenStack. The next run deletes that of a killed run."""
    _leave(cloud)
    cloud.kubectl("create", "namespace", NAMESPACE)
    cloud.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=secret)
    yield
    _leave(cloud)


def _leave(cloud: FullCloud) -> None:
    """Delete the objects before the credentials that they need."""
    if cloud.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found", "-o", "name"):
        kinds = ",".join(f"{kind}.{GROUP}" for kind in KINDS)
        cloud.kubectl("delete", kinds, "--all", "-n", NAMESPACE, limit=300)
        cloud.kubectl("delete", "namespace", NAMESPACE, limit=120)


@contextmanager
def member(cloud: FullCloud, vms: Vms) -> Iterator[tuple[Any, str]]:
    """A project with one user with minimal rights: its client, and the Secret for objects."""
    identity = vms.sdk.identity
    _sweep(identity)
    name, password = f"{PREFIX}{secrets.token_hex(4)}", secrets.token_hex(16)
    project = identity.create_project(name=name, domain_id="default")
    user = identity.create_user(name=name, password=password, domain_id="default")
    identity.assign_project_role_to_user(project, user, identity.find_role("member"))
    who = {"username": name, "password": password, "project_name": name}
    secret = yaml.safe_load(cloud.stackwright("openrc", "--format", "secret"))
    clouds = yaml.safe_load(secret["stringData"]["clouds.yaml"])
    clouds["clouds"][NAME]["auth"] |= who
    secret["stringData"]["clouds.yaml"] = yaml.safe_dump(clouds)
    outside = yaml.safe_load(vms.clouds.read_text())["clouds"][NAME]
    sdk: Any = Connection(**{**outside, "auth": {**outside["auth"], **who}})
    sdk.session.session.trust_env = False
    public = (cloud.cluster.state / "ssh" / f"{DEMO}.pub").read_text()
    sdk.compute.create_keypair(name=DEMO, public_key=public)
    yield sdk, yaml.safe_dump(secret)
    sdk.close()
    _sweep(identity)


@contextmanager
def project(cloud: FullCloud, vms: Vms) -> Iterator[Infra]:
    """A new project, and a namespace with the credentials of its user; both must be empty at the end."""
    with member(cloud, vms) as (sdk, secret), namespace(cloud, secret):
        made = Infra(cloud, sdk)
        assert made.there() == set(), "a new project"
        yield made
        made.delete("openstackmachines")
        made.delete("openstackclusters")
        made.only(set())


def _sweep(identity: Any) -> None:
    for user in identity.users(domain_id="default"):
        if user.name.startswith(PREFIX):
            identity.delete_user(user)
    for project in identity.projects(domain_id="default"):
        if project.name.startswith(PREFIX):
            identity.delete_project(project)
