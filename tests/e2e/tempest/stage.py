"""Prepares a real cloud for Tempest, and restores it afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness import Cloud

from stackwright.core.objects import secret_data
from stackwright.core.openstack.deployed.access import ADMIN_SECRET, TLS_SECRET, Access, access
from stackwright.local.image.guest import guest_image
from stackwright.smoke import leftovers
from stackwright.smoke.host import RealHost
from stackwright.smoke.openstack.projects import ProjectsApi, administrator, tenant
from stackwright.smoke.stage import GUEST_IMAGE
from stackwright.smoke.stage import Stage as Checks
from stackwright.smoke.tenant import Flavor, Leftover
from tempest import conf, job
from tempest.facts import Facts
from tempest.inventory import Inventory
from tempest.report import Report, parse

IMAGE = "for-tempest"
FLAVORS = (Flavor("for-tempest-1", 1, 128, 1), Flavor("for-tempest-2", 1, 160, 1))


@dataclass
class Stage:
    """admin  a client of openstacksdk with the administrator's rights"""

    cloud: Cloud
    admin: Any
    facts: Facts

    def run(self, select: str, exclude: str) -> Report:
        """Run Tempest in a Job, to its end."""
        order = job.Order(tempest_image(self.cloud), select, exclude)
        namespace = self.cloud.namespace
        self._delete_job()
        self.cloud.apply(job.config_map(self.facts, order, namespace))
        self.cloud.apply(job.job(self.facts, order, namespace))
        try:
            self._wait()
            return parse(self._log())
        finally:
            self._delete_job()
            self.cloud.kubectl("delete", "configmap", job.NAME, "-n", namespace, "--ignore-not-found")

    def _wait(self) -> None:
        end = time.monotonic() + job.LIMIT + 60
        while not _over(status := self.cloud.get("job", job.NAME, "-n", self.cloud.namespace).get("status", {})):
            assert time.monotonic() < end, f"Tempest did not end: {status}\n{self._log()[-4000:]}"
            time.sleep(2)
        assert status.get("succeeded"), f"Tempest's Job failed: {status}\n{self._log()[-8000:]}"

    def _log(self) -> str:
        return self.cloud.kubectl("logs", f"job/{job.NAME}", "-n", self.cloud.namespace, code=None)

    def _delete_job(self) -> None:
        words = ("delete", "job", job.NAME, "-n", self.cloud.namespace, "--ignore-not-found", "--cascade=foreground")
        self.cloud.kubectl(*words)

    def inventory(self) -> Inventory:
        """Names of the existing resources, for a comparison with the former ones."""
        admin = self.admin
        return {
            **(self._volumes() if "block-storage" in self.facts.services else {}),
            **(self._stacks() if "orchestration" in self.facts.services else {}),
            "projects": {each.name for each in admin.identity.projects()},
            "users": {each.name for each in admin.identity.users()},
            "roles": {each.name for each in admin.identity.roles()},
            "images": {each.name for each in admin.image.images()},
            "flavors": {each.name for each in admin.compute.flavors()},
            "servers": {each.name for each in admin.compute.servers(all_projects=True)},
            "networks": {each.name for each in admin.network.networks()},
            "routers": {each.name for each in admin.network.routers()},
            "floating IPs": {each.floating_ip_address for each in admin.network.ips()},
        }

    def _stacks(self) -> Inventory:
        """Without those in deletion, for which a test of the API does not wait."""
        found = self.admin.orchestration.stacks()
        return {"stacks": {each.name for each in found if each.status != "DELETE_IN_PROGRESS"}}

    def _volumes(self) -> Inventory:
        blocks = self.admin.block_storage
        kinds = {"volumes": blocks.volumes, "snapshots": blocks.snapshots, "backups": blocks.backups}
        found = {kind: {each.name or each.id for each in list_(all_projects=True)} for kind, list_ in kinds.items()}
        return {**found, "volume types": {each.name for each in blocks.types()}}


@contextmanager
def staged(cloud: Cloud, folder: Path) -> Iterator[Stage]:
    entry = _access(cloud)
    ca = folder / "ca.crt"
    ca.write_text(entry.ca)
    admin = administrator(entry, str(ca))
    projects = ProjectsApi(admin, entry, str(ca))
    guest = partial(guest_image, cloud.cluster)
    cleaner = Checks(conf.PREFIX, projects, tenant(admin), RealHost(ca), guest, folder)
    sweep(cleaner)
    computing = tenant(admin).computing
    with ExitStack() as undo:
        if (image := computing.image(GUEST_IMAGE)) is None:
            image = computing.upload(IMAGE, guest(), public=True)
            undo.callback(projects.delete, Leftover("image", image, IMAGE))
        flavors = [computing.flavor(flavor) for flavor in FLAVORS]
        for flavor in flavors:
            undo.callback(projects.delete, Leftover("flavor", flavor, ""))
        if admin.identity.find_role(conf.RESELLER) is None:
            undo.callback(admin.identity.delete_role, admin.identity.create_role(name=conf.RESELLER))
        undo.callback(sweep, cleaner)
        yield Stage(cloud, admin, _facts(cloud, entry, admin, image, flavors))


def sweep(cleaner: Checks) -> None:
    """Deletes the leftovers of a killed run in its projects: Tempest's own clean-up does not find servers in them."""
    for project in cleaner.projects.named(f"{conf.PREFIX}-"):
        leftovers.remove(cleaner, project)


def tempest_image(cloud: Cloud) -> str:
    """The image of Tempest in the operator's ConfigMap."""
    data = cloud.get("configmap", "stackwright-images", "-n", "stackwright")["data"]
    return str(json.loads(data["images.json"])["tempest"])


def _access(cloud: Cloud) -> Access:
    admin, tls = (secret_data(cloud.get("secret", name, "-n", cloud.namespace)) for name in (ADMIN_SECRET, TLS_SECRET))
    return access(cloud.osdpl(), admin, tls)


def _facts(cloud: Cloud, entry: Access, admin: Any, image: str, flavors: list[str]) -> Facts:
    user = tenant(admin)
    external = user.networking.external()
    assert external, "the cloud has no external network"
    return Facts(
        admin={key: value for key, value in entry.auth.items() if key != "password"},
        region=entry.region,
        domain=entry.domain,
        address=_node_address(cloud),
        services=entry.services,
        extensions=tuple(sorted(each.alias for each in admin.network.extensions())),
        computes=sum(each.name == "nova-compute" and each.up for each in user.computing.services()),
        image=image,
        flavor=flavors[0],
        larger=flavors[1],
        external=external,
        floating=str(admin.network.get_network(external).name),
    )


def _node_address(cloud: Cloud) -> str:
    """The ingress listens on every node."""
    nodes = cloud.get("nodes")["items"]
    return str(next(a["address"] for a in nodes[0]["status"]["addresses"] if a["type"] == "InternalIP"))


def _over(status: dict[str, Any]) -> bool:
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in status.get("conditions", []))
