"""Servers that vote, each with a volume of its node, are never two on one node."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.admission.validate import errors_of
from stackwright.api.services.kinds import ServiceSpec
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.services import ceph, etcd, mariadb
from stackwright.services.ceph.kind import Ceph
from stackwright.services.context import Context
from stackwright.services.declaration import Service
from stackwright.services.etcd.kind import Etcd
from stackwright.services.mariadb.kind import MariaDB

SIZES = ("single", "tiny", "small", "medium")


@pytest.mark.parametrize("service", [etcd.SERVICE, mariadb.SERVICE], ids=lambda service: service.name)
@pytest.mark.parametrize("size", SIZES)
def test_servers_above_size_single_are_three(service: Service, size: str) -> None:
    """On nodes of their own: the charts see to that, see tests/golden/test_charts_apart.py."""
    spec = ServiceSpec.model_validate({"release": "epoxy", "size": size})
    context = Context(service.name, "openstack", spec, {service.name: "i"}, service.settings.model_validate({}))
    pod = service.charts[0].values(context)["pod"]
    assert "affinity" not in pod
    assert pod["replicas"]["server"] == (1 if size == "single" else 3)


NO_MAJORITY = "one server of three has no majority; allowed:"


def voters(service: Service, size: str) -> int:
    spec = ServiceSpec.model_validate({"release": "epoxy", "size": size})
    settings = service.settings.model_validate({"trial": True} if service is ceph.SERVICE else {})
    replicas = service.charts[0].values(Context(service.name, "openstack", spec, {service.name: "i"}, settings))
    return int(replicas["pod"]["replicas"]["mon" if service is ceph.SERVICE else "server"])


@pytest.mark.parametrize("kind", [OpenStackDeployment, Etcd, MariaDB, Ceph], ids=lambda kind: kind.KIND.kind)
@pytest.mark.parametrize("old", SIZES)
@pytest.mark.parametrize("new", SIZES)
def test_a_size_with_fewer_servers_that_vote_is_refused(kind: Any, old: str, new: str) -> None:
    def sized(size: str) -> dict[str, Any]:
        more = {"openstack_version": "epoxy", "preset": "core"} if kind is OpenStackDeployment else {}
        return {"kind": kind.KIND.kind, "metadata": {"name": "x"}, "spec": {**more, "size": size}}

    fewer = any(voters(each, new) < voters(each, old) for each in (etcd.SERVICE, mariadb.SERVICE, ceph.SERVICE))
    told = [f"spec.size: cannot be reduced to single: {NO_MAJORITY} tiny, small, medium"] if fewer else []
    assert errors_of(sized(new), sized(old)) == told
    assert errors_of(sized(new)) == []


@pytest.mark.parametrize(("backend", "refused"), [("ml2/ovn", True), ("ml2", False), (None, False)])
def test_only_databases_of_ovn_vote_in_neutron(backend: str | None, refused: bool) -> None:
    def sized(size: str) -> dict[str, Any]:
        settings = {"backend": backend} if backend else {}
        return {"kind": "Neutron", "metadata": {"name": "x"}, "spec": {"size": size, "settings": settings}}

    told = f"spec.size: cannot be reduced to single: {NO_MAJORITY} tiny, small, medium"
    assert (told in errors_of(sized("single"), sized("tiny"))) == refused
    assert told not in errors_of(sized("tiny"), sized("single"))


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ({"templates": {"openstack": {"replicas": 3}}}, {"templates": {"openstack": {"replicas": 1}}}, True),
        ({"templates": {"openstack": {"replicas": 3}}}, {}, True),
        ({"templates": {"openstack": {"replicas": 3}}}, None, False),
        ({"templates": {"openstack": {"replicas": 1}}}, {"templates": {"openstack": {"replicas": 3}}}, False),
        ({"templates": {"openstack": {"replicas": 3}}}, {"templates": {"openstack": {"replicas": 3}}}, False),
        (None, {}, False),
    ],
)
def test_databases_of_a_control_plane_never_get_fewer(old: Any, new: Any, refused: bool) -> None:
    def plane(galera: Any) -> dict[str, Any]:
        spec = {"galera": galera} if galera is not None else {}
        return {"kind": OpenStackControlPlane.KIND.kind, "metadata": {"name": "x"}, "spec": spec}

    told = f"spec.galera.templates.openstack.replicas: cannot be reduced to 1: {NO_MAJORITY} 3"
    assert (told in errors_of(plane(new), plane(old))) == refused
