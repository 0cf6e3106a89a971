"""Several files of manifests in one call, and the namespaces they may name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.cli import confirm
from stackwright.cli.manifests.checks import check_reads
from stackwright.cli.manifests.load import BadManifest, Manifest, without_repeats
from stackwright.cli.manifests.namespaces import check_namespaces
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import Conflict, NotServed, TerminalError
from stackwright.core.plan import Object
from stackwright.runtime.memory import MemoryCluster
from tests.unit.cli.test_commands import MANIFEST, called, cluster

__all__ = ["cluster"]
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {a: %s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def written(name: str, text: str) -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        return str(path)

    return written


def test_all_files_are_applied_in_their_order(cluster: MemoryCluster, file: Any) -> None:
    two, one = file("two", MAP % ("two", "x")), file("one", MAP % ("one", "first"))
    result = called("apply", "-f", two, "-f", one)
    assert result.exit_code == 0
    assert [line.split(": ") for line in result.stdout.splitlines()] == [
        ["ConfigMap openstack/two", "created"],
        ["ConfigMap openstack/one", "created"],
    ]
    assert cluster.peek(CONFIGMAP, ("openstack", "one"))["data"] == {"a": "first"}


SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: far}\n---\n"


def test_an_object_that_is_equal_in_several_files_is_applied_once(cluster: MemoryCluster, file: Any) -> None:
    """As the same Namespace in two examples; also if one file names the namespace and another one does not."""
    one, two = file("one", SPACE + MAP % ("one", "x")), file("two", SPACE + MAP % ("two", "x"))
    again = file("again", MAP.replace("name: %s", "name: %s, namespace: openstack") % ("one", "x"))
    files = ("-f", one, "-f", two, "-f", again, "-f", again)
    assert called("plan", *files).exit_code in (0, 2)
    result = called("apply", *files)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "Namespace far: created",
        "ConfigMap openstack/one: created",
        "ConfigMap openstack/two: created",
    ]


@pytest.mark.parametrize("command", ["apply", "plan"])
def test_two_files_with_different_content_of_one_object_are_refused(
    cluster: MemoryCluster, file: Any, command: str
) -> None:
    one = file("one", f"{MAP % ('other', 'x')}---\n{MAP % ('one', 'x')}")
    two = file("two", MAP % ("one", "y"))
    result = called(command, "-f", one, "-f", two)
    assert result.exit_code == 1
    said = f"{two}: ConfigMap openstack/one is also in {one}: document 2 with other content; remove one of them"
    assert said in result.stderr
    assert not cluster.all(CONFIGMAP)


def test_equal_objects_are_of_one_kind_and_place_and_have_values_of_the_same_types() -> None:
    def made(value: object, namespace: str = "a", kind: Kind = CONFIGMAP, placed: bool = False) -> Manifest:
        return Manifest(kind, {"metadata": {"name": "x", "namespace": namespace}, "data": {"a": value}}, "f: ", placed)

    others = [made(1), made(1, "b"), made(1, kind=SECRET)]
    assert without_repeats(others) == (others, [])
    for placed in ((False, True), (True, False)):
        assert without_repeats([made(1, placed=each) for each in placed]) == ([made(1, placed=True)], [])
    first, errors = without_repeats([made(1), made(2), made(1)])
    assert (first, len(errors)) == ([made(1)], 1), "each is compared with the first one"
    for value in (True, 1.0, "1", None):
        assert without_repeats([made(1), made(value)])[1] == [
            "f: ConfigMap a/x is also in f with other content; remove one of them"
        ]


def test_errors_of_all_files_are_reported_and_nothing_is_applied(cluster: MemoryCluster, file: Any) -> None:
    good = file("good", MAP % ("one", "x"))
    wrong = [file("a", MANIFEST.replace("epoxy", "yoga")), file("b", "kind: Nothing\n")]
    result = called("apply", "-f", wrong[0], "-f", good, "-f", wrong[1])
    assert result.exit_code == 1
    assert f"{wrong[0]}: spec.openstack_version" in result.stderr
    assert f"{wrong[1]}: kind: unknown kind 'Nothing'" in result.stderr
    assert not cluster.all(CONFIGMAP)


def test_standard_input_is_read_once(cluster: MemoryCluster) -> None:
    result = called("apply", "-f", "-", "-f", "-", stdin=MANIFEST)
    assert (result.exit_code, "standard input can be read only once" in result.stderr) == (1, True)


def test_plan_and_values_accept_several_files(cluster: MemoryCluster, file: Any) -> None:
    cloud, more = file("cloud", MANIFEST), file("more", MAP % ("one", "x"))
    result = called("plan", "-f", cloud, "-f", more)
    assert result.exit_code == 2
    assert "OpenStackDeployment openstack/cloud" in result.stdout
    assert called("values", "keystone", "-f", cloud, "-f", more).exit_code == 0
    other = file("other", MANIFEST.replace("name: cloud", "name: other"))
    result = called("values", "keystone", "-f", cloud, "-f", other)
    assert (result.exit_code, "must contain exactly one cloud, not 2" in result.stderr) == (1, True)


@pytest.mark.parametrize("command", [("apply",), ("plan",), ("values", "keystone")])
def test_a_namespace_other_than_the_given_one_is_rejected(command: Any, cluster: MemoryCluster, file: Any) -> None:
    placed = file("placed", MANIFEST.replace("name: cloud", "name: cloud, namespace: here"))
    result = called(*command, "-n", "there", "-f", placed)
    assert result.exit_code == 1
    assert f"{placed}: metadata.namespace: 'here' differs from --namespace 'there'" in result.stderr
    assert not cluster.all(OpenStackDeployment.KIND)
    assert called(*command, "-n", "here", "-f", placed).exit_code in (0, 2)


def test_namespaces_are_applied_first_at_any_position(cluster: MemoryCluster) -> None:
    space = "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n"
    result = called("apply", "-f", "-", stdin=MAP % ("one, namespace: new", "x") + space)
    assert result.stdout.splitlines() == ["Namespace new: created", "ConfigMap new/one: created"]


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--yes",), 0)])
def test_losses_are_confirmed_before_anything_is_applied(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    async def foreseen(*_: object) -> list[str]:
        return ["Glance openstack/glance"]

    monkeypatch.setattr(confirm, "foreseen_losses", foreseen)
    result = called("apply", *words, "-f", "-", stdin=MAP % ("one", "x"))
    assert result.exit_code == code
    assert bool(cluster.all(CONFIGMAP)) is (code == 0)
    assert ("Glance openstack/glance" in result.stderr and "Nothing was applied." in result.stderr) is (code == 1)


@pytest.mark.parametrize(
    "error",
    [
        TerminalError("spec.x: no"),
        NotServed("no such kind"),
        Conflict("another owns it", CONFIGMAP, ("openstack", "two")),
    ],
)
def test_a_rejection_in_the_dry_run_is_reported_with_its_manifest(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def refuse(kind: object, obj: Object, manager: str) -> None:
        if obj["metadata"]["name"] == "two":
            raise error

    monkeypatch.setattr(cluster, "dry_run", refuse)
    result = called("apply", "-f", "-", stdin=f"{MAP % ('one', 'x')}---\n{MAP % ('two', 'x')}")
    assert result.exit_code == 1
    assert "document 2" in result.stderr
    assert str(error) in result.stderr
    assert result.stderr.endswith("Nothing was applied.\n")
    assert not cluster.all(CONFIGMAP)


@pytest.mark.parametrize("words", [("-n", "typo"), ()])
def test_only_a_manifest_can_ask_for_a_namespace(words: Any, cluster: MemoryCluster) -> None:
    cluster.remove(NAMESPACE, ("", "openstack"))
    result = called("apply", *words, "-f", "-", stdin=MANIFEST)
    assert result.exit_code == 1
    name = "typo" if words else "openstack"
    assert f"Namespace {name} does not exist; set metadata.namespace" in result.stderr
    assert cluster.peek(NAMESPACE, ("", name)) is None
    document = f"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
    assert called("apply", *words, "-f", "-", stdin=MANIFEST + document).exit_code == 0


async def test_all_missing_namespaces_are_reported_together(cluster: MemoryCluster) -> None:
    asked = [
        Manifest(CONFIGMAP, {"metadata": {"namespace": name, "name": "a"}}) for name in ("two", "openstack", "one")
    ]
    with pytest.raises(BadManifest) as told:
        await check_namespaces(cluster, asked)
    names = [line.partition(";")[0] for line in str(told.value).splitlines()]
    assert names == ["Namespace one does not exist", "Namespace two does not exist"]


async def test_missing_namespaces_and_immutable_fields_are_reported_together(cluster: MemoryCluster) -> None:
    old, *new = (
        {
            "apiVersion": OpenStackDeployment.KIND.api_version,
            "kind": OpenStackDeployment.KIND.kind,
            "metadata": {"namespace": namespace, "name": "cloud"},
            "spec": {"openstack_version": "epoxy", "preset": "core", "size": size},
        }
        for namespace, size in (("openstack", "tiny"), ("openstack", "single"), ("missing", "tiny"))
    )
    await cluster.apply(OpenStackDeployment.KIND, old, "kubectl")
    with pytest.raises(BadManifest) as told:
        await check_reads(cluster, [Manifest(OpenStackDeployment.KIND, each) for each in new])
    first, second = str(told.value).splitlines()
    assert first.startswith("Namespace missing does not exist")
    assert second.startswith("spec.size: ")


def test_a_namespace_that_a_manifest_names_is_created(cluster: MemoryCluster) -> None:
    result = called("apply", "-f", "-", stdin=MANIFEST.replace("name: cloud", "name: cloud, namespace: new"))
    assert result.stdout.splitlines() == ["Namespace new: created", "OpenStackDeployment new/cloud: created"]


def test_a_kind_that_is_not_served_is_reported_before_its_namespace_is_created(cluster: MemoryCluster) -> None:
    """A dry run requires that the namespace exists, but what the API server serves does not depend on it."""
    cluster.unserved = {CONFIGMAP}
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n---\n"
    result = called("apply", "-f", "-", stdin=space + MAP % ("one, namespace: new", "x"))
    assert result.exit_code == 1
    assert "does not serve configmaps" in result.stderr
    assert result.stderr.endswith("Nothing was applied.\n")
    assert cluster.peek(NAMESPACE, ("", "new")) is None


def test_what_was_applied_before_an_error_is_in_the_output(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cluster.apply

    async def apply(kind: Kind, obj: Object, manager: str) -> Object:
        if obj["metadata"]["name"] == "two":
            raise TerminalError("quota exceeded")
        return await real(kind, obj, manager)

    monkeypatch.setattr(cluster, "apply", apply)
    manifests = f"{MAP % ('one', 'x')}---\n{MAP % ('two', 'x')}"
    result = called("apply", "-o", "json", "-f", "-", stdin=manifests)
    assert result.exit_code == 1
    assert [each["name"] for each in json.loads(result.stdout)] == ["one"]
    assert "quota exceeded" in result.stderr
