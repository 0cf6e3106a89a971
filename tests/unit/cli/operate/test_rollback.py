"""`rollback` and `history --cloud` on a cluster in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.kinds import NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.cli.app import app
from stackwright.cli.manifests.load import MANAGER
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.digest import digest
from stackwright.core.errors import Conflict, TerminalError
from stackwright.core.objects import CLOUD, DIGEST, owner_reference
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Patch
from stackwright.core.secrets import revisions
from stackwright.runtime.cluster.specs import replace_spec
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.cinder.kind import Cinder
from support.commands import connect
from support.faults import Crash, FaultyCluster

SPACE = "openstack"
KEY = (SPACE, "cloud")
SPECS: list[dict[str, Any]] = [
    {"openstack_version": "epoxy", "preset": "core", "size": "tiny"},
    {"openstack_version": "epoxy", "preset": "core", "size": "tiny", "local_volume_storage_class": "fast"},
    {"openstack_version": "epoxy", "preset": "core", "size": "small", "local_volume_storage_class": "slow"},
]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    memory.put(NAMESPACE, {"metadata": {"name": SPACE}})
    cloud: dict[str, Any] = {}
    specs = []
    for asked in SPECS:
        memory.put(OpenStackDeployment.KIND, {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": asked})
        cloud = {**(memory.peek(OpenStackDeployment.KIND, KEY) or {}), "kind": "OpenStackDeployment"}
        specs.append(cloud["spec"])  # with the defaults of the API
    for number, spec in enumerate(specs, 1):
        meta = {
            "namespace": SPACE,
            "name": revisions.name(cloud, number),
            "labels": {**revisions.labels(cloud), revisions.NUMBER: str(number)},
            "annotations": {DIGEST: digest(spec)},
            "ownerReferences": [owner_reference(cloud)],
        }
        memory.put(SECRET, {"metadata": meta, "stringData": {revisions.FIELD: json.dumps(spec)}})
    connect(monkeypatch, memory)
    memory.writes.clear()
    return memory


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


def spec(cluster: MemoryCluster) -> Any:
    return cluster.peek(OpenStackDeployment.KIND, KEY)["spec"]  # type: ignore[index]


def asked(found: dict[str, Any]) -> dict[str, Any]:
    """Without the defaults of the API."""
    return {name: value for name, value in found.items() if any(name in each for each in SPECS)}


def test_revisions_of_an_earlier_cloud_of_that_name_are_ignored(cluster: MemoryCluster) -> None:
    (first, *_) = [each for each in cluster.all(SECRET) if each["metadata"]["name"].endswith(".v1")]
    meta = {**first["metadata"], "name": "openstackdeployment.cloud.v9"}
    meta["labels"] = {**meta["labels"], revisions.NUMBER: "9"}
    meta["ownerReferences"] = [{**each, "uid": "another"} for each in meta["ownerReferences"]]
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        meta.pop(field, None)
    found = revisions.of(cluster.peek(OpenStackDeployment.KIND, KEY) or {}, [first, {**first, "metadata": meta}])
    assert [each.number for each in found] == [1]


def test_history_shows_the_changed_fields_of_each_revision_without_values(cluster: MemoryCluster) -> None:
    rows = json.loads(called("history", "--cloud", "cloud", "-o", "json").stdout)
    assert [(row["revision"], row["changed"]) for row in rows] == [
        (1, []),
        (2, ["spec.local_volume_storage_class"]),
        (3, ["spec.local_volume_storage_class", "spec.size"]),
    ]
    lines = called("history", "--cloud", "cloud").stdout.splitlines()
    assert lines[0].split() == ["REVISION", "MADE", "CHANGED"]
    assert len(lines) == 4
    assert "slow" not in "".join(lines)


def test_history_shows_no_field_that_a_terminal_would_obey(cluster: MemoryCluster) -> None:
    changed = {**SPECS[1], "common": {"\x1b[2Jcharts\u202e": 1}}
    forged(cluster, "2", stringData={revisions.FIELD: json.dumps(changed)}, digest=digest(changed))
    result = called("history", "--cloud", "cloud")
    assert result.exit_code == 0, result.stderr
    assert "charts" in result.stdout
    assert all(line.isprintable() for line in result.stdout.splitlines())


def test_without_a_number_the_previous_revision_is_restored(cluster: MemoryCluster) -> None:
    result = called("rollback", "cloud", "--yes", "--no-wait")
    assert (result.exit_code, result.stdout) == (0, "OpenStackDeployment openstack/cloud: rolled back to revision 2\n")
    assert asked(spec(cluster)) == SPECS[1]


def test_a_field_that_the_revision_lacks_is_removed(cluster: MemoryCluster) -> None:
    assert called("rollback", "cloud", "1", "--yes", "--no-wait").exit_code == 0
    assert asked(spec(cluster)) == SPECS[0]


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_a_rollback_that_would_break_a_majority_is_refused(cluster: MemoryCluster, yes: tuple[str, ...]) -> None:
    small = {**SPECS[0], "size": "single"}
    forged(cluster, "1", stringData={revisions.FIELD: json.dumps(small)}, digest=digest(small))
    result = called("rollback", "cloud", "1", "--no-wait", *yes)
    assert (result.exit_code, result.stderr) == (
        1,
        "spec.size: cannot be reduced to single: one server of three has no majority; allowed: tiny, small, medium\n"
        "The cloud was not changed.\n",
    )
    assert not cluster.writes


def test_a_rollback_to_an_override_that_would_break_a_majority_is_refused(cluster: MemoryCluster) -> None:
    fewer = {**SPECS[0], "services": {"database": {"mariadb": {"values": {"pod": {"replicas": {"server": 1}}}}}}}
    forged(cluster, "1", stringData={revisions.FIELD: json.dumps(fewer)}, digest=digest(fewer))
    result = called("rollback", "cloud", "1", "--no-wait", "--yes")
    assert (result.exit_code, result.stderr) == (
        1,
        "spec.services.database.mariadb.values.pod.replicas.server: cannot be reduced to 1: "
        "1 of 3 voting servers may have no majority; allowed: 3 or more\nThe cloud was not changed.\n",
    )
    assert not cluster.writes


def test_fields_restored_by_a_rollback_are_removed_by_the_next_apply(cluster: MemoryCluster) -> None:
    assert called("rollback", "cloud", "2", "--yes", "--no-wait").exit_code == 0
    manifest = {"apiVersion": "lcm.mirantis.com/v1alpha1", "kind": "OpenStackDeployment", "metadata": {"name": "cloud"}}
    result = CliRunner().invoke(app, ["apply", "-f", "-"], input=json.dumps({**manifest, "spec": SPECS[0]}))
    assert result.exit_code == 0, result.stderr
    assert asked(spec(cluster)) == SPECS[0]


def test_a_feature_of_another_field_manager_is_not_lost_without_a_confirmation(cluster: MemoryCluster) -> None:
    """A rollback takes away what others own too, so the forecast must know it."""
    services = {"features": {"services": ["block-storage"]}}
    there = {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": SPECS[2] | services}
    cluster.put(OpenStackDeployment.KIND, there)
    cloud = {**(cluster.peek(OpenStackDeployment.KIND, KEY) or {}), "kind": "OpenStackDeployment"}
    meta = {"namespace": SPACE, "name": "cinder", "labels": {CLOUD: "cloud"}}
    cluster.put(Cinder.KIND, {"metadata": {**meta, "ownerReferences": [owner_reference(cloud)]}, "spec": {}})
    result = called("rollback", "cloud", "3", "--no-wait")
    assert result.exit_code == 1
    assert "Cinder openstack/cinder" in result.stderr
    assert "The cloud was not changed." in result.stderr
    assert not [write for write in cluster.writes if write.kind == OpenStackDeployment.KIND]


def test_the_revision_of_now_changes_nothing(cluster: MemoryCluster) -> None:
    result = called("rollback", "cloud", "3", "--yes", "--no-wait")
    assert (result.exit_code, result.stdout) == (
        0,
        "OpenStackDeployment openstack/cloud: already has the spec of revision 3\n",
    )
    assert not cluster.writes


def test_an_unknown_revision_is_rejected_with_the_known_ones(cluster: MemoryCluster) -> None:
    result = called("rollback", "cloud", "7", "--yes", "--no-wait")
    assert result.exit_code == 1
    assert result.stderr == "OpenStackDeployment cloud has no revision 7; kept: 1, 2, 3\n"
    assert not cluster.writes


def test_history_of_a_release_and_of_a_cloud_are_two_questions(cluster: MemoryCluster) -> None:
    assert called("history", "openstack-keystone", "--cloud", "cloud").exit_code == 2


def forged(cluster: MemoryCluster, number: str, digest: str = "", **more: Any) -> None:
    key = (SPACE, "openstackdeployment.cloud.v2")
    secret: dict[str, Any] = cluster.peek(SECRET, key)  # type: ignore[assignment]
    labels = {**secret["metadata"]["labels"], revisions.NUMBER: number}
    notes = {**secret["metadata"]["annotations"], **({DIGEST: digest} if digest else {})}
    cluster.put(SECRET, {**secret, "metadata": {**secret["metadata"], "labels": labels, "annotations": notes}, **more})


@pytest.mark.parametrize("text", [json.dumps(SPECS[2]), "[" * 100_000, "[]", "?"])
def test_an_edited_revision_is_not_restored(cluster: MemoryCluster, text: str) -> None:
    forged(cluster, "2", stringData={revisions.FIELD: text})
    result = called("rollback", "cloud", "2", "--yes", "--no-wait")
    assert result.exit_code == 1
    assert result.stderr.startswith("Secret openstack/openstackdeployment.cloud.v2 ")
    assert not cluster.writes


@pytest.mark.parametrize("number", ["1" * 10, "9" * 63, "\u0662", "-2", "x"])
def test_an_invalid_number_is_no_revision(cluster: MemoryCluster, number: str) -> None:
    forged(cluster, number)
    assert [row["revision"] for row in json.loads(called("history", "--cloud", "cloud", "-o", "json").stdout)] == [1, 3]


WANTED = {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": SPECS[0]}
OTHERS = {"size": "small", "features": {"services": ["block-storage"]}, "local_volume_storage_class": "other"}


def with_defaults(wanted: dict[str, Any]) -> Any:
    return MemoryCluster().put(OpenStackDeployment.KIND, {**WANTED, "spec": wanted})["spec"]


async def owned_by_others(cluster: MemoryCluster) -> None:
    """Fields of a user's apply, of another one's apply, and of `kubectl edit`."""
    meta = {"namespace": SPACE, "name": "cloud"}
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": meta, "spec": SPECS[2]}, MANAGER)
    labelled = {**meta, "labels": {"of": "flux"}}
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": labelled, "spec": OTHERS}, "flux")
    await cluster.patch(OpenStackDeployment.KIND, KEY, {"spec": {"region_name": "Two"}})


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", [1, 2, 3])
async def test_a_rollback_that_is_killed_leaves_one_spec_or_the_other(
    cluster: MemoryCluster, write: int, after: bool
) -> None:
    await owned_by_others(cluster)
    before = spec(cluster)
    with pytest.raises(Crash):
        await replace_spec(FaultyCluster(cluster, write, after), OpenStackDeployment.KIND, WANTED, MANAGER)
    assert spec(cluster) == (before if (write, after) == (1, False) else with_defaults(SPECS[0]))
    await replace_spec(cluster, OpenStackDeployment.KIND, WANTED, MANAGER)
    assert spec(cluster) == with_defaults(SPECS[0])
    labels = cluster.peek(OpenStackDeployment.KIND, KEY)["metadata"]["labels"]  # type: ignore[index]
    assert labels == {"of": "flux"}, "what is not of the spec stays its owner's"


async def test_a_value_of_null_passes_through_no_third_spec(cluster: MemoryCluster) -> None:
    """In a merge patch, null removes a field; in the values of a chart, it removes the default."""
    values = {"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"debug": None}}}}}}}
    await owned_by_others(cluster)
    before, specs = spec(cluster), []
    cluster.subscribe(lambda event, kind, obj: specs.append(obj["spec"]))
    wanted = {**WANTED, "spec": {**SPECS[0], "services": values}}
    await replace_spec(cluster, OpenStackDeployment.KIND, wanted, MANAGER)
    assert spec(cluster)["services"] == values
    assert all(each in (before, spec(cluster)) for each in specs)


async def test_a_rejected_rollback_removes_no_fields(cluster: MemoryCluster) -> None:
    """Otherwise the next apply of the former manifest would remove fields of others."""
    await owned_by_others(cluster)
    before = cluster.peek(OpenStackDeployment.KIND, KEY)
    with pytest.raises(TerminalError, match="size"):
        wrong = {**WANTED, "spec": {**SPECS[0], "size": "huge"}}
        await replace_spec(cluster, OpenStackDeployment.KIND, wanted=wrong, manager=MANAGER)
    assert cluster.peek(OpenStackDeployment.KIND, KEY) == before
    meta = {"namespace": SPACE, "name": "cloud"}
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": meta, "spec": {**SPECS[2], **OTHERS}}, "flux")
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": meta, "spec": SPECS[2]}, MANAGER)
    assert spec(cluster)["features"]["services"] == ["block-storage"]


class Busy(FaultyCluster):
    """Another client writes before each of the first patches."""

    def __init__(self, inner: MemoryCluster, times: int) -> None:
        super().__init__(inner)
        self.inner, self.times = inner, times

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        if self.times:
            self.times -= 1
            await self.inner.patch(kind, KEY, {"spec": {"region_name": f"R{self.times}"}})
        return await super().patch(kind, key, patch)


async def test_a_rollback_reads_concurrent_writes_of_others_again(cluster: MemoryCluster) -> None:
    await owned_by_others(cluster)
    before = spec(cluster)
    with pytest.raises(Conflict):
        await replace_spec(Busy(cluster, 99), OpenStackDeployment.KIND, WANTED, MANAGER)
    assert {**spec(cluster), "region_name": ""} == {**before, "region_name": ""}
    await replace_spec(Busy(cluster, 2), OpenStackDeployment.KIND, WANTED, MANAGER)
    assert spec(cluster) == with_defaults(SPECS[0])
