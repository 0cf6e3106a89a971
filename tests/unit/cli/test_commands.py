"""Calls of commands: arguments, exit codes, and the output of each stream."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.kinds import DAEMONSET, NAMESPACE, NODE, POD
from stackwright.cli import common
from stackwright.cli.app import COMMANDS, app, main
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers import cloud
from stackwright.core.errors import TerminalError
from stackwright.core.findings import Finding
from stackwright.examine import images as examine_images
from stackwright.local import tools
from stackwright.local.cluster import doctor
from stackwright.local.commands import LocalError
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.keystone.kind import Keystone
from support.commands import connect
from support.paths import ROOT
from tests.unit.examine.examined import ExaminedCluster, fit

MANIFEST = """\
apiVersion: lcm.mirantis.com/v1alpha1
kind: OpenStackDeployment
metadata: {name: cloud}
spec: {openstack_version: epoxy, preset: core, size: single}
"""
MACHINE = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: node}
spec: {flavor: small, image: {filter: {name: guest}}, sshKeyName: key, ports: [{tags: [a]}]}
"""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryCluster:
    """The commands use a cluster in memory, without a local one."""
    memory = MemoryCluster()
    memory.put(NAMESPACE, {"metadata": {"name": "openstack"}})
    memory.put(NODE, {"metadata": {"name": "node1", "labels": {"openstack-control-plane": "enabled"}}})

    (tmp_path / "kubeconfig").touch()
    connect(monkeypatch, memory)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
    return memory


def called(*words: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, words, input=stdin)


@pytest.mark.parametrize("name", ["plan", "apply", "status", "wait", "logs", "shell", "crds"])
def test_each_command_has_help_with_its_examples(name: str) -> None:
    assert name in COMMANDS
    result = called(name, "--help")
    assert result.exit_code == 0
    assert f"    stackwright {name}" in result.stdout


def test_apply_then_plan_then_status(cluster: MemoryCluster) -> None:
    result = called("apply", "-f", "-", stdin=MANIFEST)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "OpenStackDeployment openstack/cloud: created",
    ]
    assert called("apply", "-f", "-", stdin=MANIFEST).stdout == "OpenStackDeployment openstack/cloud: unchanged\n"
    result = called("plan")
    assert result.exit_code == 2
    assert "  + Keystone openstack/keystone  (for OpenStackDeployment openstack/cloud)" in result.stdout
    result = called("status")
    assert result.exit_code == 0
    assert "the operator has not processed it yet" in result.stdout
    assert "No operator runs" in result.stdout


def test_only_plan_tells_what_a_plan_lacks(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "binary", lambda name: Path("/none"))
    monkeypatch.setenv("PATH", "")
    assert called("apply", "-f", "-", stdin=MANIFEST).stderr == ""
    changed = MANIFEST.replace("size: single", "size: single, public_domain_name: other.example")
    notes = called("plan", "-f", "-", stdin=changed).stderr.splitlines()
    assert [note[:5] for note in notes] == ["Note:", "Note:"]
    assert called("apply", "-f", "-", stdin=changed).stderr == ""


def test_apply_warns_of_a_second_cloud_in_a_namespace(cluster: MemoryCluster) -> None:
    assert called("apply", "-f", "-", stdin=MANIFEST).stderr == ""
    result = called("apply", "-f", "-", stdin=MANIFEST.replace("name: cloud", "name: later"))
    assert (result.exit_code, result.stdout) == (0, "OpenStackDeployment openstack/later: created\n")
    assert result.stderr == (
        "Warning: OpenStackDeployment openstack/later stays blocked: The namespace has an older cloud, "
        "OpenStackDeployment cloud; delete this one: a namespace can have only one cloud\n"
    )
    assert "Warning" not in called("apply", "-f", "-", stdin=MANIFEST).stderr, "the older one works"


def test_apply_succeeds_where_other_clouds_cannot_be_listed(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning of a second cloud is a help only."""
    plain = cluster.list

    async def fails(kind: Any, *args: Any) -> Any:
        if kind.kind == "OpenStackControlPlane":
            raise TerminalError("list OpenStackControlPlane: forbidden")
        return await plain(kind, *args)

    monkeypatch.setattr(cluster, "list", fails)
    result = called("apply", "-f", "-", stdin=MANIFEST)
    assert (result.exit_code, result.stdout) == (0, "OpenStackDeployment openstack/cloud: created\n")


def test_nothing_is_applied_when_a_document_is_wrong(cluster: MemoryCluster) -> None:
    result = called("apply", "-f", "-", stdin=MANIFEST + "---\nkind: Keystone\n")
    assert result.exit_code == 1
    assert "Nothing was applied." in result.stderr
    assert not cluster.writes


def test_without_a_cloud_the_message_names_the_next_step(cluster: MemoryCluster) -> None:
    assert "stackwright apply -f" in called("status").stdout
    for words in (["plan"], ["wait"], ["plan", "--delete", "x"], ["status", "x"], ["logs", "nova"], ["shell"]):
        result = called(*words)
        assert (result.exit_code, result.stdout) == (1, ""), words
        assert result.stderr.strip()


def test_wrong_usage(cluster: MemoryCluster) -> None:
    assert called("apply").exit_code == 2
    for command in ("status", "doctor"):
        result = called(command, "-o", "xml")
        assert result.exit_code == 2
        assert "Invalid value for '--output' / '-o': 'xml' is not one of" in result.stderr
    assert called("nonsense").exit_code == 2
    assert called("--bogus", "status").exit_code == 2
    assert called("--bogus", "logs", "plan").exit_code == 2


@pytest.mark.parametrize("words", [["--nosuch"], ["-o", "xml"], ["-f"], ["file.yaml"], ["-f", "none.yaml"], []])
@pytest.mark.parametrize("first", [[], ["--bogus"], ["--context", "x"]])
def test_a_plan_ends_with_2_only_if_there_are_changes(
    cluster: MemoryCluster, first: list[str], words: list[str]
) -> None:
    """A script that asks for changes cannot tell wrong usage from them otherwise."""
    result = called(*first, "plan", *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr


def test_help_names_the_exit_codes() -> None:
    told = " ".join(called("--help").stdout.split())
    assert "0 done, 1 failed, 2 wrong usage, 130 interrupted" in told
    assert "0: no changes; 2: changes; 1: failure or wrong usage" in called("plan", "--help").stdout


def test_a_draft_changes_nothing(cluster: MemoryCluster) -> None:
    called("apply", "-f", "-", stdin=MANIFEST.replace("size:", "draft: true, size:"))
    result = called("plan")
    assert result.exit_code == 0
    assert "No changes." in result.stdout
    assert "spec.draft is true" in result.stdout


@pytest.mark.parametrize(("command", "told"), [("plan", "changed"), ("apply", "applied")])
def test_changes_that_the_api_would_reject_are_reported_together(
    cluster: MemoryCluster, command: str, told: str
) -> None:
    assert called("apply", "-f", "-", stdin=MACHINE).exit_code == 0
    cluster.writes.clear()
    other = (
        MACHINE.replace("small", "large").replace("name: guest", "name: other").replace(", ports: [{tags: [a]}]", "")
    )
    result = called(command, "-f", "-", stdin=f"{MANIFEST}---\n{other}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert sorted(result.stderr.splitlines()) == [
        "-: document 2: spec.flavor: cannot change; create another object",
        "-: document 2: spec.image: cannot change; create another object",
        "-: document 2: spec.ports: cannot change; create another object",
        f"Nothing was {told}.",
    ]
    assert not cluster.writes


def test_a_manifest_of_a_whole_cluster_is_planned_and_applied_with_kinds_that_are_not_ours(
    cluster: MemoryCluster,
) -> None:
    spec = {"identityRef": {"name": "clouds", "cloudName": "mine"}, "managedSubnets": [{"cidr": "10.6.0.0/24"}]}
    group = "cluster.x-k8s.io"
    kinds = [
        ("v1", "Secret"), (f"{group}/v1beta2", "Cluster"), (f"controlplane.{group}/v1beta2", "KubeadmControlPlane"),
        (f"{group}/v1beta2", "MachineDeployment"), (f"bootstrap.{group}/v1beta2", "KubeadmConfigTemplate"),
        (f"{group}/v1beta2", "MachineHealthCheck"), (f"addons.{group}/v1beta2", "ClusterResourceSet"),
    ]  # fmt: skip
    every: list[dict[str, Any]] = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "c"}} for version, kind in kinds
    ]
    ours = {"apiVersion": f"infrastructure.{group}/v1beta1", "kind": "OpenStackCluster", "metadata": {"name": "c"}}
    text = yaml.safe_dump_all([*every, {**ours, "spec": spec}])
    planned = called("plan", "-f", "-", stdin=text)
    assert planned.exit_code == 2
    for _, kind in kinds:
        assert f"+ {kind} openstack/c" in planned.stdout
    told = "OpenStackCluster openstack/c: Secret openstack/clouds does not exist (CredentialsMissing)"
    assert told in planned.stdout
    applied = called("apply", "-f", "-", stdin=text)
    assert applied.exit_code == 0, applied.stderr
    again = called("plan", "-f", "-", stdin=text).stdout
    assert not [kind for _, kind in kinds if f" {kind} openstack/c\n" in again]


def test_fields_of_others_and_other_spellings_are_no_changes(cluster: MemoryCluster) -> None:
    assert called("apply", "-f", "-", stdin=MACHINE).exit_code == 0
    kind = OpenStackMachine.KIND
    live = cluster.peek(kind, ("openstack", "node")) or {}
    cluster.put(kind, {**live, "spec": {**live["spec"], "providerID": "openstack://one/2", "instanceID": "2"}})
    later = MACHINE.replace("v1beta1", "v1beta2").replace("flavor: small", "flavor: {filter: {name: small}}")
    assert (
        called("plan", "-f", "-", stdin=later.replace("sshKeyName", "recreatePolicy: Always, sshKeyName")).exit_code
        == 2
    )
    assert called("apply", "-f", "-", stdin=later).exit_code == 0


def test_wait_prints_the_object_for_programs(cluster: MemoryCluster) -> None:
    called("apply", "-f", "-", stdin=MANIFEST)
    result = called("wait", "-o", "json", "--timeout", "0")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told.keys() == {"kind", "namespace", "name", "ready", "state", "reason", "message", "since"}
    assert (told["kind"], told["name"], told["ready"]) == ("OpenStackDeployment", "cloud", False)
    assert "was not ready" in result.stderr
    cluster.put(Keystone.KIND, {"metadata": {"namespace": "openstack", "name": "keystone"}, "spec": {}})
    for name in ("keystone", "identity", "Keystone/keystone"):
        for goal in ("ready", "deleted"):
            result = called("wait", name, "--for", goal, "--timeout", "0")
            assert result.exit_code == 1
            assert f"Keystone openstack/keystone was not {goal}" in result.stderr
    assert "No glance found in namespace openstack; found: " in called("wait", "glance").stderr
    gone = called("wait", "gone", "--for", "deleted", "-o", "json")  # another cloud exists
    assert (gone.exit_code, json.loads(gone.stdout)) == (0, None)


def test_apply_prints_the_objects_for_programs(cluster: MemoryCluster) -> None:
    for result in ("created", "unchanged"):
        (told,) = json.loads(called("apply", "-f", "-", "-o", "json", stdin=MANIFEST).stdout)
        assert (told["kind"], told["namespace"], told["name"]) == ("OpenStackDeployment", "openstack", "cloud")
        assert (told["result"], told["ready"]) == (result, False)
        assert told.keys() == {*["kind", "namespace", "name", "ready", "state", "reason", "message", "since", "result"]}


def test_plan_and_apply_create_the_namespaces_that_manifests_name(cluster: MemoryCluster) -> None:
    one, other = (MANIFEST.replace("name: cloud", f"name: cloud, namespace: {name}") for name in ("one", "other"))
    text = f"{one}---\n{other}"
    planned = called("plan", "-f", "-", stdin=text).stdout.splitlines()
    assert planned[:3] == ["  + Namespace one", "  + Namespace other", "  + OpenStackDeployment one/cloud"]
    assert len([line for line in planned if "Namespace" in line]) == 2, "each once"
    applied = called("apply", "-f", "-", stdin=text).stdout.splitlines()
    assert applied[:2] == ["Namespace one: created", "Namespace other: created"]


def test_a_namespace_that_no_manifest_names_is_not_created(cluster: MemoryCluster) -> None:
    for command in ("plan", "apply"):
        result = called(command, "-f", "-", "-n", "new", stdin=MANIFEST)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Namespace new does not exist; set metadata.namespace to it" in result.stderr


def test_an_unknown_name_is_reported_with_the_known_ones(cluster: MemoryCluster) -> None:
    called("apply", "-f", "-", stdin=MANIFEST)
    meta = {"namespace": "openstack", "name": "nova-compute", "labels": {"application": "nova", "component": "compute"}}
    cluster.put(DAEMONSET, {"metadata": meta, "spec": {}})
    told = called("status", "keystone").stderr
    assert told == "Cloud openstack/keystone does not exist; found: OpenStackDeployment openstack/cloud\n"
    assert "did you mean nova-compute? found: nova" in called("restart", "nova-compte").stderr
    told = called("delete", "web", "-n", "demo").stderr
    assert told == "No cloud found in namespace demo; `kubectl delete` deletes other objects\n"


def test_plan_names_the_object_of_each_change(cluster: MemoryCluster) -> None:
    changes = json.loads(called("plan", "-f", "-", "-o", "json", stdin=MANIFEST).stdout)["changes"]
    named = {(each["kind"], each["namespace"], each["name"]) for each in changes}
    assert {("OpenStackDeployment", "openstack", "cloud"), ("HelmRelease", "openstack", "openstack-keystone")} <= named
    for each in changes:
        assert not each["kind"] or f"{each['namespace']}/{each['name']}".lstrip("/") in each["what"], each


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch, cluster: MemoryCluster) -> ExaminedCluster:
    """A cluster that is fit, for commands without helm."""
    found = fit()
    found.put(NAMESPACE, {"metadata": {"name": "openstack"}})
    connect(monkeypatch, found)
    monkeypatch.setattr(tools, "binary", lambda name: Path("/none"))
    monkeypatch.setenv("PATH", "")
    return found


def test_doctor_of_another_cluster_names_pods_and_objects_in_trouble(examined: ExaminedCluster, tmp_path: Path) -> None:
    words = ("doctor", "--kubeconfig", str(tmp_path / "kubeconfig"))
    assert called(*words).exit_code == 0
    waiting = {"name": "api", "image": "example.org/api:1", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    spec = {"containers": [{"name": "api", "image": "example.org/api:1"}], "nodeName": "node1"}
    pod = {
        "metadata": {"namespace": "openstack", "name": "p"},
        "spec": spec,
        "status": {"containerStatuses": [waiting]},
    }
    examined.put(POD, pod)
    called("apply", "-f", "-", stdin=MANIFEST)
    cloud = examined.peek(OpenStackDeployment.KIND, ("openstack", "cloud"))
    ready = {"type": "Ready", "status": "False", "reason": "BlockedX", "message": "no such flavor"}
    examined.put(OpenStackDeployment.KIND, {**(cloud or {}), "status": {"conditions": [ready]}})
    result = called(*words)
    assert result.exit_code == 1
    assert "openstack/p: container api: ImagePullFailed: node node1 cannot pull" in result.stdout
    assert "example.org/api:1" in result.stdout
    assert "OpenStackDeployment openstack/cloud: no such flavor" in result.stdout
    assert "machine" not in result.stdout


def test_doctor_indents_foreign_lines_so_that_they_are_no_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("pod p", "problem", "no such image\n ✓ pod p: fit")]
    monkeypatch.setattr(doctor, "examine", lambda _: found)
    result = called("doctor")
    assert (result.stdout, result.exit_code) == (" ✗ pod p: no such image\n       ✓ pod p: fit\n", 1)


def test_doctor_tells_what_a_cluster_lacks_for_a_manifest(examined: ExaminedCluster) -> None:
    assert called("doctor", "-f", "-", stdin=MANIFEST).exit_code == 0
    spec = "openstack_version: epoxy, local_volume_storage_class: ssd,"
    result = called("doctor", "-f", "-", "-o", "json", stdin=MANIFEST.replace("openstack_version: epoxy,", spec))
    assert result.exit_code == 1
    [found] = [each for each in json.loads(result.stdout) if each["level"] == "problem"]
    assert set(found) == {"subject", "level", "text", "remedy", "log"}
    assert found["subject"] == "StorageClass ssd" and "openstack/openstack-mariadb" in found["text"]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["--images", "Not A Prefix"], 2, "Invalid value for --images"),
        (["--nodes"], 1, "name the registry by --images"),
        (["--plain-http"], 2, "--plain-http needs --images"),
        (["--ca", __file__], 2, "--ca needs --images"),
        (["--images", "a.example/b", "--ca", "/none"], 2, "does not exist"),
        (["-f", "-"], 1, "contains no OpenStackDeployment or OpenStackControlPlane"),
    ],
)
def test_doctor_refuses_wrong_usage(examined: ExaminedCluster, words: list[str], code: int, error: str) -> None:
    companion = "apiVersion: v1\nkind: Namespace\nmetadata: {name: openstack}\n"
    result = called("doctor", *words, stdin=companion)
    assert (result.exit_code, error in " ".join(result.output.split())) == (code, True)


def test_doctor_reaches_the_registry_as_the_options_say(
    examined: ExaminedCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (ca := tmp_path / "ca.crt").touch()
    calls: list[dict[str, object]] = []

    def connected(*_: object, **options: object) -> None:
        calls.append(options)
        raise LocalError("no answer")

    monkeypatch.setattr(examine_images, "connected", connected)
    for words in ([], ["--ca", str(ca)], ["--plain-http"]):
        assert "no answer" in called("doctor", "--images", "registry.example.org/a", *words).stdout
    assert [(each["ca"], each["plain_http"]) for each in calls] == [(None, False), (ca, False), (None, True)]


def test_doctor_reports_that_the_variable_names_no_file(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda _: [])
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/typo")
    result = called("doctor")
    assert result.exit_code == 1
    assert f"$KUBECONFIG: {tmp_path}/typo: the file does not exist" in result.stdout
    monkeypatch.delenv("KUBECONFIG")
    assert called("doctor").exit_code == 0


def test_control_planes_are_planned_to_be_deleted_and_have_values(cluster: MemoryCluster) -> None:
    path = str(ROOT / "examples/control-plane.yaml")
    assert called("apply", "-f", path).exit_code == 0
    result = called("plan", "--delete", "openstack")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[0] == "  - OpenStackControlPlane openstack/openstack  (requested)"
    assert "is in a manifest and in --delete" in called("plan", "-f", path, "--delete", "openstack").stderr
    assert "There is no OpenStackDeployment or OpenStackControlPlane" in called("plan", "--delete", "x").stderr
    values = called("values", "mariadb", "-f", path, "-o", "json")
    assert (values.exit_code, values.stderr) == (0, "")
    assert json.loads(values.stdout)["volume"]["size"] == "5Gi"
    assert called("values", "mariadb", "-f", str(ROOT / "examples/server.yaml")).stderr == (
        f"{ROOT}/examples/server.yaml: must contain exactly one cloud, not 0\n"
    )


def test_a_cloud_that_is_in_a_manifest_is_not_planned_to_be_deleted(cluster: MemoryCluster) -> None:
    assert called("apply", "-f", "-", stdin=MANIFEST).exit_code == 0
    result = called("plan", "-f", "-", "--delete", "cloud", stdin=MANIFEST)
    assert (result.exit_code, result.stdout) == (1, "")
    told = "OpenStackDeployment openstack/cloud is in a manifest and in --delete; use only one of them"
    assert result.stderr.splitlines()[-1] == told


@pytest.mark.parametrize("verbose", [False, True])
def test_an_internal_error_is_one_line_with_its_place(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verbose: bool
) -> None:
    """The text of an exception may contain any value, so it is shown only on request."""

    def fails(*args: object) -> object:
        raise KeyError("hunter2")

    monkeypatch.setattr(cloud, "decide", fails)
    monkeypatch.setattr(common, "given", common.Common())
    monkeypatch.setattr(sys, "argv", ["stackwright", "plan", "-f", "-", *(["-v"] if verbose else [])])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.encode())))
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    line = told.splitlines()[-1]
    assert ended.value.code == 1
    assert line.startswith("Internal error: KeyError at runtime/cycle/pausing.py:")
    assert line.endswith("please report this message and the output of the command with --verbose")
    assert ("Traceback" in told, "hunter2" in told) == (verbose, verbose)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_table_that_is_updated_has_no_other_format(cluster: MemoryCluster, form: str) -> None:
    result = called("status", "--watch", "-o", form)
    assert result.exit_code == 2
    assert "cannot be combined with --output" in " ".join(result.stderr.split())
