"""Every text of a spec is one line: what follows a line break would be an option, a variable or a field of its own."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, TypeAdapter, ValidationError

from stackwright.api.crd import KEEP, VALIDATIONS, crd
from stackwright.api.fields import ini
from stackwright.api.fields.lines import LENGTH, LINE, OPTION
from stackwright.api.support import Refused
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.registry import RESOURCES
from stackwright.services.registry import SERVICES

# Fields for texts of several lines. The names end the path of the field. Certificates are no texts any more when a
# model
# has read them: services/ingress/features.py.
MANY_LINES = {
    "customServiceConfig": "an INI file, which is read option by option (test_an_option_of_an_ini_file_is_one_line)",
    "volume_types.*.description": "a text for people; charts keep it one text (tests/golden/test_charts_hostile.py)",
    "ports[].description": "a text for people, which Neutron keeps as it is",
    "SecurityGroupRules[].description": "the same",
    "serverMetadata[].value": "what a machine reads as it is",
}
# Values of charts. Their options are one line too: tests/unit/services/test_values_lines.py.
FREE_FORM = ("services", "values", "releases", "settings", "conf")
HOSTILE = ("a\nb", "a\n", "\n", "a\rb", "\x00", "a\x0bb", "a\x1b[1m", "a\x7f", "a\x85b", "a\u2028b", "a\u2029b")
HARMLESS = (
    "http://a", "a", "10.0.0.1", "10.0.0.0/24", "1:2", "image", "20Gi", "00000000-0000-0000-0000-000000000000", "",
    "1 0 * * *", "a.b", "SELECT",
)  # fmt: skip
each_kind = pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.KIND.kind)


def listed(path: str) -> bool:
    return path.endswith(tuple(MANY_LINES))


# --- in Python: admission, the command line, controllers


def texts(annotation: Any, path: str, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[str, TypeAdapter[Any]]]:
    """Each text below a type, as (path, what validates it alone)."""
    if typing.get_origin(annotation) is Annotated:
        inner, *more = typing.get_args(annotation)
        yield from texts(inner, path, (*more, *metadata))
    elif typing.get_origin(annotation) is dict:
        key, value = typing.get_args(annotation)
        if not free_form(metadata, path):
            yield from texts(key, f"{path}.key")
            yield from texts(value, f"{path}.*")
    elif typing.get_origin(annotation) is list:
        yield from texts(typing.get_args(annotation)[0], f"{path}[]")
    elif typing.get_origin(annotation) not in (None, typing.Literal):
        for choice in typing.get_args(annotation):
            yield from texts(choice, path, metadata)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            metadata = (*field.metadata, field.json_schema_extra)
            yield from texts(field.annotation, f"{path}.{field.alias or name}", metadata)
    elif annotation is str:
        kept = [each for each in metadata if not isinstance(each, BeforeValidator | dict)]
        yield path, TypeAdapter(Annotated[str, *kept] if kept else str)
    else:
        assert annotation is not Any or any(isinstance(each, Refused) for each in metadata), path


def free_form(metadata: tuple[Any, ...], path: str) -> bool:
    extras = [each if isinstance(each, dict) else getattr(each, "json_schema_extra", None) for each in metadata]
    free = any(KEEP in (extra or {}) for extra in extras)
    assert not free or path.endswith(FREE_FORM), path
    return free


def accepts(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        adapter.validate_python(text)
    except ValidationError:
        return False
    return True


def checked(found: Iterator[tuple[str, TypeAdapter[Any]]]) -> int:
    count = 0
    for path, adapter in found:
        if not listed(path):
            count += 1
            assert any(accepts(adapter, text) for text in HARMLESS), f"{path}: nothing is accepted; mend this test"
            assert not [text for text in HOSTILE if accepts(adapter, text)], f"{path}: make it a Line, or list it"
    return count


@each_kind
def test_each_text_of_a_spec_is_one_line(resource) -> None:
    assert checked(texts(resource.model_fields["spec"].annotation, "spec"))


@pytest.mark.parametrize("declared", SERVICES, ids=lambda each: each.name)
def test_each_text_of_the_settings_of_a_service_is_one_line(declared) -> None:
    checked(texts(declared.settings, "settings"))


# --- in the API server: the schema


def nodes(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    refused = {rule.get("fieldPath") for rule in schema.get(VALIDATIONS, ()) if rule["rule"].startswith("!has(self.")}
    for name, child in (schema.get("properties") or {}).items():
        if f".{name}" not in refused:
            yield from nodes(child, f"{path}.{name}")
    for field, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(field), dict):
            yield from nodes(schema[field], path + mark)
    yield path, schema


@each_kind
def test_the_api_server_refuses_line_breaks_too(resource) -> None:
    spec = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for path, node in nodes(spec, "spec"):
        if node.get("type") != "string" or listed(path) or "enum" in node or "format" in node:
            continue
        assert "pattern" in node, f"{path}: make it a Line, or list it"
        # `$` of the API server is the end of the text. It leaves two line breaks of Unicode to admission.
        pattern = re.sub(r"\$$", r"\\Z", node["pattern"])
        assert not [text for text in HOSTILE if re.search(pattern, text) and not {"\u2028", "\u2029"} & set(text)], path


REGIONS = {"region", "region_name", "regionName"}


@each_kind
def test_a_region_has_at_most_255_characters(resource) -> None:
    """Keystone's database stores no longer id of a region; a cloud with one is never ready."""
    spec = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for path, node in nodes(spec, "spec"):
        if path.rpartition(".")[2] in REGIONS:
            assert node["maxLength"] == LENGTH == 255, path
    for path, adapter in texts(resource.model_fields["spec"].annotation, "spec"):
        if path.rpartition(".")[2] in REGIONS:
            assert accepts(adapter, "r" * LENGTH) and not accepts(adapter, "r" * (LENGTH + 1)), path


def test_listed_fields_exist() -> None:
    found = {path for each in RESOURCES for path, _ in texts(each.model_fields["spec"].annotation, "spec")}
    for name in MANY_LINES:
        assert any(path.endswith(name) for path in found), name


# --- configuration files


def test_one_line_is_one_line() -> None:
    assert all(LINE.matches(text) for text in ("", "a", "a\tb", "Zürich", "%(x)s", "a=b"))
    assert not [text for text in HOSTILE if LINE.matches(text)]
    assert all(OPTION.matches(text) for text in ("a", "a_b", "log.level", "a b", "wsgi-file", "a:b"))
    assert not [text for text in (*HOSTILE, "", "a=b", "a]", "[a", "#a", " a", "a ", "a\tb") if OPTION.matches(text)]


@pytest.mark.parametrize("text", ["[x\r]\na = b", "[x]\na\x85b = c", "[x]\na = b\x0bc", "[x]\na = b\revil = c"])
def test_an_option_of_an_ini_file_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"control characters|is not a valid name") as told:
        ini.sections(text)
    assert str(told.value).isprintable()


def test_an_ini_file_of_another_system_is_read() -> None:
    assert ini.sections("[x]\r\na = b\r\n\r\n[y]\r\nc = d\te\r\n") == {"x": {"a": "b"}, "y": {"c": "d\te"}}


def test_a_key_of_many_lines_is_reported_shortened() -> None:
    spec: Any = OpenStackControlPlane.model_fields["spec"].annotation
    with pytest.raises(ValidationError, match="control characters"):
        spec.model_validate({"secret": "a", "storageClass": "", "keystone": {"template": {"region": "R\nx: y"}}})
