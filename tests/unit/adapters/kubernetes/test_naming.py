"""Names become segments of URL paths: no text in any name field leads a request outside the object's own path."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackwright.api.crd import crd
from stackwright.api.fields.naming import NAMESPACE as NAMESPACE_FORMAT
from stackwright.api.fields.naming import OBJECT, SECRET_KEY
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import EVENT, NAMESPACE, NODE, SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.cloud.validate import parse
from stackwright.controllers.infra.clusterapi import MACHINE, kind_of
from stackwright.controllers.infra.reads import get_if_served
from stackwright.core.errors import TerminalError
from stackwright.core.helm.sensitive import cut
from support.empty_api import Server

HOSTILE = (
    "../../victim/secrets/stackwright-clouds", "x?fieldManager=y", "x#", "x/status", "..", ".", "", "%2e%2e", "x%2fy",
    "x\ny", "X", "x;y", "x\\y", "x y", "\u212a", "x\n",
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=40),
    st.text("./?#%&=:@\\ ax-\n", max_size=40),
    st.sampled_from(HOSTILE),
)


async def _ask(call) -> None:
    try:
        await call
    except Exception as error:
        assert isinstance(error, TerminalError) or "none" in str(error) or "does not exist" in str(error), repr(error)


@given(texts, texts)
@example("tenant", "../../victim/secrets/stackwright-clouds")
@example("tenant/../victim", "stackwright-clouds")
@example("tenant", "")
@example("", "stackwright-clouds")
async def test_no_name_moves_a_request_outside_its_path(namespace: str, name: str) -> None:
    server = Server()
    key, cluster = (namespace, name), server.cluster
    obj = {"metadata": {"namespace": namespace, "name": name}}
    for kind in (SECRET, NODE, OpenStackServer.KIND):
        prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        if kind.namespaced:
            prefix += f"/namespaces/{namespace}"
        own = f"{prefix}/{kind.plural}/{name}"
        server.paths.clear()
        await _ask(cluster.get(kind, key))
        await _ask(cluster.delete(kind, key))
        await _ask(cluster.patch(kind, key, {}))
        await _ask(cluster.apply(kind, obj, "test"))
        assert set(server.paths) <= {own}, key
        assert len(server.paths) in (0, 4), key
        await _ask(cluster.apply_status(kind, obj, "test"))
        assert set(server.paths) <= {own, f"{own}/status"}, key
        assert all(unquote(path) == path and "//" not in path for path in server.paths), key
        server.paths.clear()
        await _ask(cluster.list(kind, namespace))
        assert set(server.paths) <= {f"{prefix.removesuffix('/namespaces/')}/{kind.plural}"}, key


@pytest.mark.parametrize("name", HOSTILE)
async def test_an_invalid_name_is_rejected_before_a_request(name: str) -> None:
    server = Server()
    for call in (
        server.cluster.get(SECRET, ("tenant", name)),
        server.cluster.delete(SECRET, ("tenant", name)),
        server.cluster.patch(SECRET, ("tenant", name), {}),
        server.cluster.get(NAMESPACE, ("", name)),
    ):
        with pytest.raises(TerminalError, match="is not the name of an object"):
            await call
    if name:
        with pytest.raises(TerminalError, match="is not the name of a namespace"):
            await server.cluster.list(SECRET, name)
    assert server.paths == []


apis = st.one_of(texts, st.builds("{}.cluster.x-k8s.io".format, texts))


@given(apis, texts, texts, texts)
@example("../../api/v1/namespaces/victim/secrets/x?a=.cluster.x-k8s.io", "v1", "Machine", "machines")
@example("cluster.x-k8s.io", "..", "Machine", "..")
@example("cluster.x-k8s.io", "v1", "Machine", "../../../api/v1/namespaces/victim/secrets")
async def test_no_kind_moves_a_request_outside_its_path(group: str, version: str, name: str, plural: str) -> None:
    server = Server()
    for kind in filter(None, (Kind(group, version, name, plural), kind_of(f"{group}/{version}", name))):
        server.paths.clear()
        prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        await _ask(server.cluster.list(kind, "tenant"))
        await _ask(server.cluster.get(kind, ("tenant", "x")))
        own = f"{prefix}/namespaces/tenant/{kind.plural}"
        assert set(server.paths) <= {own, f"{own}/x"}, kind
        assert all(re.fullmatch(r"(/[a-z0-9]([-a-z0-9.]*[a-z0-9])?)+", path) for path in server.paths), kind


@pytest.mark.parametrize("text", HOSTILE)
async def test_an_invalid_group_version_or_plural_is_rejected_before_a_request(text: str) -> None:
    server = Server()
    kinds = [Kind("a.b", text, "K", "ks"), Kind("a.b", "v1", "K", text)]
    for kind in [*kinds, Kind(f"{text}.cluster.x-k8s.io", "v1", "K", "ks")]:
        with pytest.raises(TerminalError, match="is not a resource of an API"):
            await server.cluster.get(kind, ("tenant", "x"))
    assert server.paths == []


async def test_valid_names_are_sent_unchanged() -> None:
    server = Server()
    for name in ("a", "nova-keystone", "a.b-c.d", "0", "x" * 253):
        await server.cluster.get(SECRET, ("tenant", name))
    assert server.paths[1] == "/api/v1/namespaces/tenant/secrets/nova-keystone"
    assert len(server.paths) == 5


async def test_an_event_of_an_object_with_a_long_name_is_written() -> None:
    server = Server()
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "a", "name": "x" * 199 + "-y"}}
    await server.cluster.event(obj, "Reason", "message", False)
    created, *others = server.paths
    assert created == f"/api/v1/namespaces/a/{EVENT.plural}"
    assert all(OBJECT.matches(path.removeprefix(f"{created}/")) for path in others)


async def test_an_owner_reference_that_names_no_object_is_not_looked_up() -> None:
    """The API server does not check the name in an owner reference."""
    server = Server()
    assert await get_if_served(server.cluster, MACHINE, ("tenant", "../../victim/secrets/x")) is None
    assert server.paths == []


# Name fields that do not name an object of Kubernetes, but something in an OpenStack, Helm, Vault, a database or DNS.
ELSEWHERE = re.compile(
    r"(filter\.name|sshKeyName|cloudName|project_name|region_name|domain_name|userName|username|serviceName"
    r"|(valueSpecs|serverMetadata|matchExpressions)\[\]\.\w+|availabilityZone\.name|pools\[\]\.name|releases\[\]\.name"
    r"|(additionalBlockDevices|schedulerHintAdditionalProperties|SecurityGroupRules)\[\]\.name"
    r"|floating_network(\.\w+)?\.name|vault\.namespace|nsRecords\[\]\.hostname)$"
)
NAMES = re.compile(r"(name|secret|instance|namespace|class|key|ref)s?(\[\])?$", re.IGNORECASE)


def _texts(schema, path=""):
    for name, child in (schema.get("properties") or {}).items():
        yield from _texts(child, f"{path}.{name}")
    for child, part in ((schema.get("items"), "[]"), (schema.get("additionalProperties"), ".*")):
        if isinstance(child, dict):
            yield from _texts(child, path + part)
    if schema.get("type") == "string" and "enum" not in schema:
        yield path, schema


def _name_fields():
    return list(_found_fields())


def _found_fields():
    for resource in RESOURCES:
        schema = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for path, node in _texts(schema):
            supported = "Not supported by this version" not in node.get("description", "") and node.get("description")
            if NAMES.search(path) and not ELSEWHERE.search(path) and supported:
                yield pytest.param(node, id=f"{resource.KIND.kind}{path}")


@pytest.mark.parametrize("node", _name_fields())
def test_every_name_field_of_every_kind_has_a_pattern_that_no_path_fits(node) -> None:
    assert node["maxLength"] <= 253
    for text in HOSTILE:
        allowed = re.fullmatch(node["pattern"].removeprefix("^").removesuffix("$"), text) is not None
        key = "key" in node["description"].lower() and text in (".", "..", "X")  # a key is no part of a path
        assert not allowed or key or (text == "" and node["pattern"].endswith(")?$")), text


def test_name_fields_exist() -> None:
    found = {param.id.rpartition(".")[2] for param in _name_fields()}
    assert {"name", "namespace", "secretName", "instance", "secret", "storageClass"} <= found


@pytest.mark.parametrize("field", ["name", "key"])
@pytest.mark.parametrize("text", ["../../victim/secrets/x", "x?a=b", "x/y", "x\ny", ""])
def test_a_reference_that_may_also_be_a_text_is_checked_by_us(field: str, text: str) -> None:
    """No pattern of a CRD can hold for a field that is a text or an object."""
    reference = {"value_from": {"secret_key_ref": {"name": "tls", "key": "tls.crt", field: text}}}
    ssl = {"public_endpoints": {"enabled": True, "ca_cert": reference}}
    spec = {"openstack_version": "epoxy", "preset": "core", "size": "single", "features": {"ssl": ssl}}
    _, errors = parse({"spec": spec})
    assert any(f"secret_key_ref.{field}" in error for error in errors), errors


@pytest.mark.parametrize("name", [text for text in HOSTILE if text])
def test_our_own_validation_agrees(name: str) -> None:
    spec = {
        "identityRef": {"name": name, "cloudName": "c"}, "flavor": "f", "image": {"filter": {"name": "i"}},
        "ports": [{}], "sshKeyName": "", "userDataRef": {"name": name},
    }  # fmt: skip
    _, errors = OpenStackServer.parsed({"spec": spec})
    for field in ("identityRef.name", "userDataRef.name"):
        assert any(error.startswith(f"spec.{field}: must be lower-case letters") for error in errors), errors


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reference_in_free_form_values_is_checked_too(name: str) -> None:
    values = {"conf": {"nova": {"a": {"b": {"value_from": {"secret_key_ref": {"name": name, "key": "k"}}}}}}}
    with pytest.raises(ValueError, match=r"secret_key_ref\.name"):
        cut(values, "nova")


@given(texts)
def test_formats_are_those_of_kubernetes(text: str) -> None:
    label_part = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
    label = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
    assert NAMESPACE_FORMAT.matches(text) == bool(re.fullmatch(label, text))
    assert OBJECT.matches(text) == bool(re.fullmatch(rf"{label_part}(\.{label_part})*", text))
    if OBJECT.matches(text):
        assert "/" not in text and ".." not in text
        assert text.isascii() and text == text.lower()
    assert not SECRET_KEY.matches(text) or "/" not in text
