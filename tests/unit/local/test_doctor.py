"""Output of doctor about stuck objects."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.local.cluster import doctor
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import api
from stackwright.services.keystone.kind import Keystone
from stackwright.services.mariadb.kind import MariaDB

CAUSE = "Release openstack-keystone failed: quantities must match the regular expression"


def obj(name: str, status: str, reason: str, message: str) -> dict[str, Any]:
    ready = {"type": "Ready", "status": status, "reason": reason, "message": message}
    return {"metadata": {"namespace": "openstack", "name": name}, "status": {"conditions": [ready]}}


class Api:
    """A cluster in which the upgrade of Keystone was refused."""

    objects: ClassVar[dict[Any, list[dict[str, Any]]]] = {
        OpenStackDeployment: [obj("cloud", "False", "BlockedFailed", f"Keystone: {CAUSE}")],
        Keystone: [obj("keystone", "False", "BlockedFailed", CAUSE)],
        HelmBundle: [obj("openstack-keystone", "False", "BlockedFailed", CAUSE)],
        MariaDB: [obj("mariadb", "True", "Ready", ""), obj("new", "False", "Waiting", "for a node")],
    }

    def get(self, path: str) -> dict[str, Any] | None:
        return next(
            ({"items": items} for resource, items in self.objects.items() if path.endswith(f"/{resource.KIND.plural}")),
            None,
        )


def test_a_stuck_object_is_reported_once_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "of", lambda cluster: Api())
    [found] = doctor._stuck(LocalCluster.discover())
    assert found.level == "problem" and found.text == CAUSE
    assert found.subject == "HelmBundle openstack/openstack-keystone, Keystone openstack/keystone"


def test_an_unresponsive_api_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def get(self, path: str) -> None:
            raise LocalError(f"GET {path}: 0 refused")

    monkeypatch.setattr(api, "of", lambda cluster: Away())
    [found] = doctor._stuck(LocalCluster.discover())
    assert (found.subject, found.level) == ("objects", "problem") and "refused" in found.text
