"""What is read of a cluster, also by a user with few rights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stackwright.adapters.kubernetes.errors import MissingRight
from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, NODE, POD, VALIDATING_WEBHOOK
from stackwright.api.meta import Kind
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError, TransientError, Unavailable
from stackwright.core.settings import Settings
from stackwright.examine.checks import check
from stackwright.examine.demand import Demand, of_services
from stackwright.examine.examine import examine
from stackwright.examine.observe import observe
from stackwright.examine.rights import Right
from stackwright.services.registry import SERVICES
from tests.unit.examine.examined import ExaminedCluster, fit

SPEC = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
RIGHT = Right("", "secrets", "get")


async def test_a_fit_cluster_has_no_problem() -> None:
    found, _, demand = await examine(fit(), (), Settings(), None)
    assert [each for each in found if each.level != "ok"] == []
    assert set(demand.labels) == {label for each in SERVICES for label in each.node_labels}


async def test_the_configuration_of_the_dns_and_the_clouds_are_read() -> None:
    cluster = fit()
    cluster.put(
        CONFIGMAP,
        {"metadata": {"namespace": "kube-system", "name": "coredns"}, "data": {"Corefile": "kubernetes a.b {"}},
    )
    cluster.put(OpenStackDeployment.KIND, {"metadata": {"namespace": "a", "name": "b"}, "spec": SPEC})
    seen = await observe(cluster, ())
    assert seen.corefile == "kubernetes a.b {"
    assert [(each["kind"], each["metadata"]["name"]) for each in seen.clouds] == [("OpenStackDeployment", "b")]


async def test_only_rights_that_are_lacking_are_reported() -> None:
    cluster = fit()
    cluster.allowed = frozenset({"get secrets"})
    other = Right("", "secrets", "list")
    assert (await observe(cluster, [RIGHT, other])).lacking == [other]
    cluster.allowed = None
    assert (await observe(cluster, [RIGHT, other])).lacking == []


async def test_rights_may_be_replaced_by_all_that_suffice_instead() -> None:
    cluster = fit()
    escalate = Right("g", "roles", "escalate", instead=(Right("", "pods", "get"), Right("", "pods/log", "get")))
    bind = Right("g", "roles", "bind", name="a")
    cluster.allowed = frozenset({"get pods"})
    assert (await observe(cluster, [escalate, bind])).lacking == [escalate, bind]
    cluster.allowed = frozenset({"get pods", "get pods/log"})
    assert (await observe(cluster, [escalate, bind])).lacking == [bind]
    cluster.allowed = frozenset({"bind roles/a", "escalate roles"})
    assert (await observe(cluster, [escalate, bind])).lacking == []


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        ("", ""),
        ("apply Pod: Pod is invalid: spec.volumes[0]: Required value: must specify a volume type", "must specify"),
        ("apply Pod: not allowed: patch pods", None),
    ],
)
async def test_a_server_without_image_volumes_refuses_the_volume(error: str, seen: str | None) -> None:
    cluster = fit()
    cluster.refused = error
    found = (await observe(cluster, ())).image_volumes
    assert found is None if seen is None else found is not None and seen in found and bool(found) == bool(seen)


class Forbidding(ExaminedCluster):
    """A user who may read nothing, and whose rights the server does not tell."""

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Any]:
        raise MissingRight("not allowed")

    async def get(self, kind: Kind, key: Any) -> Any:
        raise TerminalError("not allowed")

    async def is_allowed(self, attributes: Mapping[str, str]) -> bool:
        raise TerminalError("not allowed")


async def test_what_may_not_be_read_is_a_finding() -> None:
    seen = await observe(Forbidding(), [RIGHT])
    assert seen.lacking is None and not seen.knows(NODE) and not seen.knows(POD)
    assert seen.refused == {}, "a missing right needs an administrator"
    subjects = {each.subject for each in check(seen, of_services(SERVICES)) if each.level != "ok"}
    assert subjects == {"permissions", "StorageClass", "nodes", "cluster DNS"}
    assert check(seen, Demand())


@pytest.mark.parametrize("error", [TerminalError("a webhook denied it"), TransientError("conversion webhook failed")])
async def test_a_refusal_for_another_reason_needs_no_administrator(error: Exception) -> None:
    class Refusing(ExaminedCluster):
        async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Any]:
            raise error

    seen = await observe(fit(Refusing()), [RIGHT])
    found = [each for each in check(seen, of_services(SERVICES)) if each.level != "ok"]
    assert {each.subject for each in found} == {"StorageClass", "nodes", "cluster DNS"}
    for each in found:
        assert str(error) in each.text and "administrator" not in each.remedy


def with_webhook(cluster: ExaminedCluster, namespace: str) -> ExaminedCluster:
    """The cluster with the operator's webhook, whose Service is in the namespace; empty: it names none."""
    service = {"clientConfig": {"service": {"namespace": namespace}}} if namespace else {}
    rules = [{"apiGroups": ["lcm.mirantis.com"], "resources": ["openstackdeployments"]}]
    cluster.put(VALIDATING_WEBHOOK, {"metadata": {"name": "stackwright"}, "webhooks": [{**service, "rules": rules}]})
    return fit(cluster)


@pytest.mark.parametrize("namespace", ["", "stackwright", "elsewhere"])
async def test_the_operator_is_in_the_namespace_that_its_webhook_names(namespace: str) -> None:
    cluster = with_webhook(ExaminedCluster(), namespace)
    seen = await observe(cluster, ())
    assert seen.operator is None and not seen.hidden
    [left] = [each for each in check(seen, Demand()) if each.level == "problem"]
    assert left.remedy == "`kubectl delete validatingwebhookconfigurations stackwright`"
    cluster.put(DEPLOYMENT, {"metadata": {"namespace": namespace or "stackwright", "name": "stackwright"}})
    seen = await observe(cluster, ())
    assert seen.operator
    assert [each for each in check(seen, Demand()) if each.level == "problem"] == []


@pytest.mark.parametrize("error", [MissingRight("no right"), TerminalError("denied"), TransientError("failed")])
async def test_the_webhook_of_an_operator_that_cannot_be_read_is_not_to_be_deleted(error: Exception) -> None:
    class Hiding(ExaminedCluster):
        async def get(self, kind: Kind, key: Any) -> Any:
            if kind == DEPLOYMENT:
                raise error
            return await super().get(kind, key)

    found = check(await observe(with_webhook(Hiding(), "elsewhere"), ()), Demand())
    [unknown] = [each for each in found if each.subject == "ValidatingWebhookConfiguration stackwright"]
    assert unknown.level == "note" and str(error) in unknown.text
    assert not any("kubectl delete" in each.remedy for each in found)


async def test_a_server_that_does_not_answer_is_an_error() -> None:
    class Away(ExaminedCluster):
        async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Any]:
            raise Unavailable("no answer")

    with pytest.raises(Unavailable):
        await observe(Away(), ())
