"""Resources in an OpenStack when their object is deleted: deleted first, unless a policy keeps them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackwright.controllers.infra.cloud_observation import CloudObservation, with_error
from stackwright.controllers.infra.teardown import tear_down
from stackwright.controllers.server.observe import KIND
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView, ResourceKey
from stackwright.core.plan import Finalizer, Object, Plan, Warn

PORT: ResourceKey = ("port", "web-0")
OBJ: Object = {
    "apiVersion": KIND.api_version,
    "kind": KIND.kind,
    "metadata": {"name": "web", "namespace": "ns", "uid": "u", "finalizers": [FINALIZER], "deletionTimestamp": "now"},
    "status": {"ready": True, "project": "p"},
}
AWAY, REFUSED = (
    TransientCloudError("Unreachable", "timed out"),
    TransientCloudError("AuthenticationFailed", "401", sure=True),
)
ONCE = TransientCloudError("AuthenticationFailed", "401")
DENIED_ONCE = TerminalCloudError("IdentityAccessDenied", "not this namespace")
DENIED = TerminalCloudError("IdentityAccessDenied", "not this namespace", sure=True)
GONE = TransientCloudError("CredentialsMissing", "there is no Secret", sure=True)


def going(policy: str | None, trouble: TransientCloudError | TerminalCloudError | None = None) -> Plan:
    spec = {"credentialsLostPolicy": policy} if policy else {}
    seen = CloudObservation(
        OBJ,
        0.0,
        spec,
        cloud=CloudRef(("ns", "clouds"), "mine"),
        view=ProjectView((CloudResource(*PORT[:1], "1"),)),
    )
    seen = with_error(replace(seen, view=None), trouble) if trouble else seen
    return tear_down(KIND, seen, {PORT: "1"}, lambda record: {"ports": list(record.values())})


@pytest.mark.parametrize("policy", [None, "Wait", "Detach"])
def test_while_the_cloud_responds_all_resources_are_deleted_first(policy: str | None) -> None:
    (call,) = going(policy).actions
    assert isinstance(call, CloudCall)
    assert (call.do, call.id) == ("delete", "1")


@pytest.mark.parametrize(
    ("policy", "trouble", "way"),
    [
        (None, AWAY, "Orphan"),
        ("Wait", REFUSED, "Detach"),
        ("Wait", GONE, "Detach"),
        ("Detach", AWAY, "Orphan"),
        ("Detach", ONCE, "Detach"),
        ("Detach", DENIED_ONCE, "Detach"),
    ],
)
def test_an_unreachable_cloud_causes_a_wait_with_a_remedy(policy: str | None, trouble: Any, way: str) -> None:
    """A user who detaches has lost the credentials; an unresponsive cloud may recover soon."""
    plan = going(policy, trouble)
    assert plan.actions == ()
    assert plan.status == {"project": "p", "ready": False, "ports": ["1"]}
    assert plan.requeue
    assert f"spec.credentialsLostPolicy to {way}," in plan.conditions[0].message


@pytest.mark.parametrize(
    ("policy", "trouble"),
    [("Orphan", None), ("Orphan", AWAY), ("Detach", REFUSED), ("Detach", GONE), ("Detach", DENIED)],
)
def test_a_detached_deletion_reports_the_leftovers(policy: str, trouble: Any) -> None:
    warn, finalizer = going(policy, trouble).actions
    assert isinstance(warn, Warn) and isinstance(finalizer, Finalizer)
    assert warn.message == "Left in the cloud: port 1"
    assert not finalizer.present


def test_a_cloud_without_the_api_of_a_recorded_resource_blocks_with_a_remedy() -> None:
    view = ProjectView(unlisted_types=frozenset({"port"}), lacking={"port": "network"})
    seen = CloudObservation(OBJ, 0.0, {}, cloud=CloudRef(("ns", "clouds"), "mine"), view=view)
    for out, named in (("", "spec.credentialsLostPolicy to Orphan"), ("spec.reclaimPolicy to Retain",) * 2):
        plan = tear_down(KIND, seen, {PORT: "1"}, lambda record: {"ports": list(record.values())}, out=out)
        assert plan.actions == ()
        assert plan.status == {"project": "p", "ready": False, "ports": ["1"]}
        assert plan.conditions[0].reason == "BlockedServiceMissing"
        for part in ("service network", "port 1", f"or set {named},"):
            assert part in plan.conditions[0].message
