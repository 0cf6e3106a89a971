"""Cluster API's kinds are read in whichever version is served."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import CLUSTER
from stackwright.controllers.infra.reads import get_if_served
from stackwright.core.errors import NotServed

KEY = ("ns", "shop")


class Serves:
    def __init__(self, *versions: str) -> None:
        self.versions = versions

    async def get(self, kind: Kind, key: Any) -> Any:
        if kind.version not in self.versions:
            raise NotServed(f"no {kind.api_version}")
        return {"apiVersion": kind.api_version, "metadata": {"name": key[1]}}


@pytest.mark.parametrize(
    ("served", "read"), [(("v1beta1",), "v1beta1"), (("v1beta1", "v1beta2"), "v1beta2"), (("v1beta2",), "v1beta2")]
)
async def test_the_newest_version_that_is_served_is_read(served: tuple[str, ...], read: str) -> None:
    found = await get_if_served(Serves(*served), CLUSTER, KEY)  # type: ignore[arg-type]
    assert (found or {})["apiVersion"] == f"cluster.x-k8s.io/{read}"


async def test_without_cluster_api_its_kinds_are_empty() -> None:
    assert await get_if_served(Serves(), CLUSTER, KEY) is None  # type: ignore[arg-type]
