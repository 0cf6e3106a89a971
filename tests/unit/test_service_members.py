"""Servers that vote, each with a volume of its node, are never two on one node."""

from __future__ import annotations

import pytest

from stackwright.api.services import ServiceSpec
from stackwright.services import etcd, mariadb
from stackwright.services.declaration import Context, Service

REQUIRED = {"affinity": {"anti": {"type": {"default": "requiredDuringSchedulingIgnoredDuringExecution"}}}}


@pytest.mark.parametrize("service", [etcd.SERVICE, mariadb.SERVICE], ids=lambda service: service.name)
@pytest.mark.parametrize("size", ["single", "tiny", "small", "medium"])
def test_servers_above_size_single_are_on_nodes_of_their_own(service: Service, size: str) -> None:
    spec = ServiceSpec.model_validate({"release": "epoxy", "size": size})
    context = Context(service.name, "openstack", spec, {service.name: "i"}, service.settings.model_validate({}))
    pod = service.charts[0].values(context)["pod"]
    count = pod["replicas"]["server"]
    assert pod.get("affinity") == (REQUIRED["affinity"] if size != "single" else None)
    assert count == (1 if size == "single" else 3)
