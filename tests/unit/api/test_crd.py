"""The CustomResourceDefinitions: requirements of the API server, and ours."""

import functools
import json
import re

import pytest
import yaml

from stackwright.api.crd import KEEP, MARK
from stackwright.api.crd import crd as generated
from stackwright.cloud.registry import CLOUD_KINDS, CONTRACT_KINDS, INFRA_KINDS, RESOURCES
from stackwright.controllers.catalog import controllers
from stackwright.core.settings import Settings

each_kind = pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.KIND.kind)
TEMPLATES = [resource for resource in RESOURCES if "Template" in resource.KIND.kind]
NOT_STRUCTURAL = {"$ref", "$defs", "title", "const", "discriminator", "definitions", "examples", MARK}


@functools.cache
def crd(resource):
    """Each kind once; tests must not modify it."""
    return generated(resource)


def schema_of(resource):
    return crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def nodes(schema, path=""):
    """Every node of a schema with its path."""
    yield path, schema
    for name, child in (schema.get("properties") or {}).items():
        yield from nodes(child, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from nodes(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(schema["additionalProperties"], f"{path}.*")


@each_kind
def test_the_definition_is_as_it_was_reviewed(resource, golden):
    text = yaml.dump(crd(resource), Dumper=yaml.CSafeDumper, sort_keys=True, width=120, allow_unicode=True)
    golden(f"crds/{resource.KIND.plural}.yaml", text)


@each_kind
def test_the_definition_is_small_enough_for_kubectl_apply(resource):
    """kubectl apply keeps the definition in an annotation, and all annotations together may have 262,144 bytes."""
    assert len(json.dumps(crd(resource))) < 180_000


@each_kind
def test_the_schema_is_structural(resource):
    for path, node in nodes(schema_of(resource)):
        assert not NOT_STRUCTURAL & node.keys(), path
        needed = all(choice.keys() == {"required"} for choice in node.get("anyOf", ()))
        assert not {"anyOf", "oneOf", "allOf"} & node.keys() or KEEP in node or needed, path
        assert "type" in node or node.get(KEEP) is True, path
        assert node.get("additionalProperties") is not False, path
        assert not ("properties" in node and "additionalProperties" in node), path
        if node.get("type") == "array":
            assert "items" in node, path
        if node.get("type") == "object" and "properties" not in node:
            assert "additionalProperties" in node or node.get(KEEP) is True, path


@pytest.mark.parametrize("resource", (*INFRA_KINDS, *CONTRACT_KINDS), ids=lambda r: r.KIND.kind)
def test_every_list_of_a_tenant_has_a_bound(resource):
    """A spec is processed again and again, and its names become queries to an OpenStack."""
    for path, node in nodes(schema_of(resource)["properties"]["spec"]):
        assert node.get("type") != "array" or "maxItems" in node, f"{resource.KIND.kind}{path}"


@pytest.mark.parametrize("resource", INFRA_KINDS, ids=lambda r: r.KIND.kind)
def test_every_text_and_map_of_a_tenant_has_a_bound(resource):
    for path, node in nodes(schema_of(resource)["properties"]["spec"]):
        bounded = {"maxLength", "enum", "format"} & node.keys()
        assert node.get("type") != "string" or bounded, f"{resource.KIND.kind}{path}"
        assert "additionalProperties" not in node or "maxProperties" in node, f"{resource.KIND.kind}{path}"


@each_kind
def test_every_field_has_a_description(resource):
    for path, node in nodes(schema_of(resource)):
        if path and not path.endswith(("[]", ".*")):
            assert node.get("description"), f"{resource.KIND.kind}{path} has no description"


@each_kind
def test_conditions_can_be_owned_one_by_one(resource):
    conditions = schema_of(resource)["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "type" in conditions["items"]["required"]
    assert "default" not in conditions["items"]["properties"]["type"]


@each_kind
def test_the_fields_of_a_status_have_no_defaults(resource):
    status = {**schema_of(resource)["properties"]["status"]}
    status.pop("default", None)
    assert not [path for path, node in nodes(status) if "default" in node]


@each_kind
def test_the_kinds_that_a_controller_reports_are_in_progress_before_the_first_report(resource):
    """Others have no status, so they are current for kstatus."""
    reported = {each.kind for each in controllers(Settings()) if each.owns_ready}
    default = schema_of(resource)["properties"]["status"].get("default")
    assert default == ({"observedGeneration": -1} if resource.KIND in reported else None)


@each_kind
def test_a_default_is_allowed_by_its_own_schema(resource):
    types = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
    for path, node in nodes(schema_of(resource)):
        if "default" in node:
            assert isinstance(node["default"], types[node["type"]]), path
            assert node["default"] in node.get("enum", [node["default"]]), path


@each_kind
def test_patterns_are_valid_in_go_too(resource):
    for path, node in nodes(schema_of(resource)):
        pattern = node.get("pattern", "")
        assert not re.search(r"\(\?[=!<]|\\[1-9]", pattern), f"{path}: Go has no lookaround and no back references"


@each_kind
def test_printer_columns_point_at_declared_fields(resource):
    schema = schema_of(resource)
    for column in crd(resource)["spec"]["versions"][0]["additionalPrinterColumns"]:
        path = column["jsonPath"].split("[?")[0]
        node = schema
        for part in path.strip(".").split("."):
            if part == "metadata":
                break
            assert part in node["properties"], f"{column['name']}: {column['jsonPath']}"
            node = node["properties"][part]


def refusals(node):
    """Field → rule, of those that a node refuses by name."""
    told = [rule for rule in node.get("x-kubernetes-validations", ()) if rule["message"].endswith("; remove it")]
    return {rule["fieldPath"].removeprefix("."): rule for rule in told}


def test_every_unsupported_field_is_refused_by_name_at_its_place():
    resource = next(r for r in RESOURCES if r.KIND.kind == "OpenStackDeployment")
    rules = {f"{path}.{name}" for path, node in nodes(schema_of(resource)) for name in refusals(node)}
    assert {
        ".spec.features.telemetry", ".spec.features.octavia", ".spec.features.nova.images.lvm",
        ".spec.features.horizon.themes", ".spec.migration", ".spec.features.keystone.users.admin.default_domain_id",
    } <= rules  # fmt: skip
    for path, node in nodes(schema_of(resource)):
        for name, rule in refusals(node).items():
            assert re.fullmatch(rf"!has\(self\.{name}\)( \|\| .*self\.{name}.*)?", rule["rule"]), path
            assert rule["message"].startswith(f"{name} is not supported"), path
            assert name in node["properties"], path
        for name, child in (node.get("properties") or {}).items():
            if "the field is rejected" in child.get("description", ""):
                assert f"{path}.{name}" in rules
            if "only false is allowed" in child.get("description", ""):
                assert any(rule["fieldPath"] == ".enabled" for rule in child["x-kubernetes-validations"][:1]), path


@pytest.mark.parametrize("resource", TEMPLATES, ids=lambda r: r.KIND.kind)
def test_the_schema_of_a_template_has_no_rules_for_updates(resource):
    """Cluster API's topology controller must get an answer to the dry run of any change; admission has the rules."""
    for path, node in nodes(schema_of(resource)):
        assert not [rule for rule in node.get("x-kubernetes-validations", ()) if "oldSelf" in rule["rule"]], path


def test_unknown_fields_reach_the_webhook_only_in_the_kinds_of_a_whole_cloud():
    for resource in RESOURCES:
        kept = schema_of(resource)["properties"]["spec"].get(KEEP, False)
        assert kept is (resource in CLOUD_KINDS)


@each_kind
def test_all_versions_have_one_schema_because_nothing_converts_between_them(resource):
    versions = crd(resource)["spec"]["versions"]
    assert [version["name"] for version in versions] == [v.split("/")[-1] for v in resource.KIND.api_versions]
    assert [version["storage"] for version in versions] == [True] + [False] * (len(versions) - 1)
    assert all(version["schema"] == versions[0]["schema"] for version in versions)
    assert "conversion" not in crd(resource)["spec"]


@each_kind
def test_our_own_markers_are_not_in_the_crd(resource):
    assert not [path for path, node in nodes(schema_of(resource)) if any(key.startswith("x-stackw") for key in node)]


def test_names_of_kinds_are_unique():
    for name in ("kind", "plural"):
        found = [getattr(resource.KIND, name) for resource in RESOURCES]
        assert len(set(found)) == len(found)
    short = [each for resource in RESOURCES for each in resource.KIND.short]
    assert len(set(short)) == len(short)


def test_cluster_api_finds_by_a_label_which_versions_it_may_read():
    labels = {resource.KIND.kind: dict(crd(resource)["metadata"].get("labels") or {}) for resource in RESOURCES}
    moved = {kind for kind, told in labels.items() if told.pop("clusterctl.cluster.x-k8s.io", None) == ""}
    assert moved == {resource.KIND.kind for resource in INFRA_KINDS}, "`clusterctl move` takes these along"
    contract = {"cluster.x-k8s.io/v1beta2": "v1beta1_v1beta2"}
    kinds = ("OpenStackCluster", "OpenStackClusterTemplate", "OpenStackMachine", "OpenStackMachineTemplate")
    assert {kind: told for kind, told in labels.items() if told} == dict.fromkeys(kinds, contract)


def test_the_shapes_are_those_of_the_contract_v1beta2_of_cluster_api():
    schemas = {resource.KIND.kind: schema_of(resource) for resource in RESOURCES}

    def kind_at(kind, path):
        node = schemas[kind]
        for part in path.split("."):
            node = node["items"] if part == "[]" else node["properties"][part]
        return node["type"]

    expected = {
        "OpenStackCluster": {
            "spec.controlPlaneEndpoint.host": "string",
            "spec.controlPlaneEndpoint.port": "integer",
            "status.initialization.provisioned": "boolean",
            "status.failureDomains": "array",  # a map in the contract v1beta1, which is why that is not promised
            "status.failureDomains.[].name": "string",
            "status.failureDomains.[].controlPlane": "boolean",
        },
        "OpenStackMachine": {
            "spec.providerID": "string",
            "status.initialization.provisioned": "boolean",
            "status.addresses.[].type": "string",
            "status.addresses.[].address": "string",
            "status.failureDomain": "string",
        },
        "OpenStackMachineTemplate": {"spec.template.spec": "object"},
    }
    assert {kind: {path: kind_at(kind, path) for path in paths} for kind, paths in expected.items()} == expected
