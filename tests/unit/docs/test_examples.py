"""Every example is valid by our models, and the controllers can process it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import argocd
import pytest
import yaml

from stackwright.cli.manifests.load import load
from stackwright.cloud.registry import BY_KIND
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.validate import parse
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.core.helm.sensitive import cut
from support.paths import ROOT

EXAMPLES = ROOT / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))
NAMES = [
    "catalog-entry", "cloud", "cluster", "control-plane", "dns", "floating-ip", "glance-standalone", "identity",
    "key-manager", "keystone-only", "memcached-only", "orchestration", "overrides", "ovn", "production",
    "server-volumes", "server", "storage",
]  # fmt: skip
CONTRACTS = {contract.kind.kind: contract for contract in (DATABASE, MESSAGING, IDENTITY)}


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))


def services_of(name: str) -> dict[str, dict[str, Any]]:
    """Name → service object, as the cloud controller would create them for an example."""
    cloud = next(doc for doc in documents(name) if doc["kind"] == "OpenStackDeployment")
    cloud["metadata"]["uid"] = "u"
    spec, errors = parse(cloud)
    assert spec is not None, errors
    return {wanted.name: service_object(cloud, spec, wanted) for wanted in wanted_services(spec)}


def test_the_health_scripts_of_argo_cd_are_up_to_date() -> None:
    assert argocd.TARGET.read_text() == argocd.config_map(), "call `make docs`"
    data = yaml.safe_load(argocd.TARGET.read_text())["data"]
    kinds = {f"{each.KIND.group}_{each.KIND.kind}" for each in BY_KIND.values() if each.REPORTED}
    assert {key.removeprefix("resource.customizations.health.") for key in data} == kinds


def test_flux_waits_for_each_step_and_deletes_no_cloud() -> None:
    steps = documents("gitops/flux")
    assert [step["spec"].get("dependsOn") for step in steps[1:]] == [
        [{"name": before["metadata"]["name"]}] for before in steps[:-1]
    ]
    assert {step["spec"]["prune"] for step in steps} == {False}
    (cloud,) = [each for each in documents("cloud") if each["kind"] == "OpenStackDeployment"]
    (checked,) = steps[-1]["spec"]["healthChecks"]
    named = {name: cloud["metadata"][name] for name in ("name", "namespace")}
    assert checked == {"apiVersion": cloud["apiVersion"], "kind": cloud["kind"], **named}
    (expressions,) = steps[-1]["spec"]["healthCheckExprs"]
    assert (expressions["apiVersion"], expressions["kind"]) == (cloud["apiVersion"], cloud["kind"])


def test_flux_pulls_the_chart_of_this_version() -> None:
    found = {each["kind"]: each["spec"] for each in documents("gitops/flux-operator") if "spec" in each}
    version = yaml.safe_load((ROOT / "charts/stackwright/Chart.yaml").read_text())["version"]
    assert found["OCIRepository"]["ref"]["semver"] == version.rpartition(".")[0] + ".x"
    assert found["HelmRelease"]["chartRef"]["kind"] == "OCIRepository"


def test_the_chart_of_flux_leaves_the_kinds_to_their_own_kustomization() -> None:
    """They are templates of the chart, which `crds: Skip` of a HelmRelease does not concern."""
    (release,) = [each["spec"] for each in documents("gitops/flux-operator") if each["kind"] == "HelmRelease"]
    assert release["values"] == {"crds": {"install": False}}
    assert yaml.safe_load((ROOT / "charts/stackwright/values.yaml").read_text())["crds"] == {"install": True}
    assert "crds" not in release["install"].keys() | release["upgrade"].keys()


def test_all_examples_exist() -> None:
    assert [path.stem for path in FILES] == NAMES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_command_line_accepts_an_example_unchanged(path: Path) -> None:
    assert load(path, "somewhere")


@pytest.mark.parametrize("name", NAMES)
def test_our_models_accept_an_example_unchanged(name: str) -> None:
    for document in documents(name):
        if document["kind"] in BY_KIND:
            BY_KIND[document["kind"]].model_validate(document)


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_in_a_namespace_that_is_named(name: str) -> None:
    for document in documents(name):
        assert document["kind"] == "Namespace" or document["metadata"]["namespace"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_explains_itself(path: Path) -> None:
    assert path.read_text().startswith("# ")


def needed(path: Path) -> str:
    """Which cloud an example needs, by the comment at its beginning."""
    head = path.read_text().partition("apiVersion:")[0]
    (told,) = [
        line.removeprefix("# Required cloud: ") for line in head.splitlines() if line.startswith("# Required cloud: ")
    ]
    return told


def wanted(document: dict[str, Any]) -> set[str]:
    """Existing services that the kinds and fields of a document need."""
    by_kind = {
        "DatabaseAccount": {"mariadb"}, "MessagingAccount": {"rabbitmq"}, "KeystoneService": {"keystone"},
    }  # fmt: skip
    found = set(by_kind.get(document["kind"], ()))
    if "infrastructure.cluster.x-k8s.io" in document["apiVersion"]:
        found |= {"nova", "neutron", "glance", "keystone"}
        spec = document["spec"]
        disks = [disk["storage"]["type"] for disk in spec.get("additionalBlockDevices", ())]
        found |= {"cinder"} if "rootVolume" in spec or "Volume" in disks else set()
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_names_a_cloud_that_has_its_references(path: Path) -> None:
    told = needed(path)
    uses = set().union(*map(wanted, documents(path.stem)))
    if told.startswith("none; this file creates "):
        assert not uses
        return
    assert (EXAMPLES / told).exists()
    if told != "keystone-only.yaml":
        assert uses
        assert uses <= set(services_of(told.removesuffix(".yaml")))


def test_the_default_cloud_fits_most_examples() -> None:
    told = [cloud for path in FILES if not (cloud := needed(path)).startswith("none")]
    assert told.count("cloud.yaml") > len(told) / 2
    assert needed(EXAMPLES / "server.yaml") == "cloud.yaml"


def test_which_services_the_clouds_have() -> None:
    assert set(services_of("cloud")) == {
        "mariadb", "rabbitmq", "nova-rabbitmq", "neutron-rabbitmq", "memcached", "keystone",
        "ingress", "glance", "placement", "neutron", "nova", "horizon",
    }  # fmt: skip
    assert set(services_of("memcached-only")) == {"memcached"}


def test_the_levels_of_overrides_arrive() -> None:
    identity = services_of("overrides")["keystone"]["spec"]["overrides"]
    assert [level["source"] for level in identity] == ["spec.common.openstack.values", "spec.services"]
    assert [set(level["values"]) for level in identity] == [{"keystone", "keystoneclient"}, {"keystone"}]
    (memcached,) = services_of("overrides")["memcached"]["spec"]["overrides"]
    assert memcached["source"] == "spec.common.infra.releases"


def test_the_password_is_cut_out_of_the_values() -> None:
    level = services_of("overrides")["keystone"]["spec"]["overrides"][-1]
    values, sections = cut(level["values"]["keystone"], "keystone")
    assert sections == {"ldap": {"password": ("directory", "password")}}
    assert "password" not in str(values)


def test_the_keys_of_secrets_match_the_comments() -> None:
    lines = (EXAMPLES / "catalog-entry.yaml").read_text().splitlines()
    told = [set(line.split("# keys: ")[1].split(", ")) for line in lines if "# keys: " in line]
    made = []
    for document in documents("catalog-entry"):
        contract = CONTRACTS[document["kind"]]
        spec = contract.spec.model_validate(document["spec"])
        made.append({"password", *contract.fixed(spec, "openstack"), *contract.templates(spec)})
    assert told == made
