"""Finds plain-text secrets in manifests of clouds and services: `plan` notes them, `apply` and `up -f` warn. Pure.

Every user who may read the object, or the records of its releases, can read them. An entry contains the field, never
the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.errors import name_of
from stackwright.api.meta import Kind, Resource
from stackwright.api.secrecy import is_plain_secret
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS
from stackwright.core.plan import Object
from stackwright.forecast.entries import Entry, exposed

_RESOURCES: tuple[type[Resource], ...] = (*CLOUD_KINDS, *SERVICE_KINDS, HelmBundle)
KINDS = frozenset(resource.KIND for resource in _RESOURCES)
REFERENCES = "secrets"  # in values of charts: mapping of names of Secrets


def plaintext_secrets(objects: Iterable[tuple[Kind, Object]]) -> list[Entry]:
    """One entry for each field, in the order of the manifest."""
    return exposed(path for kind, obj in objects if kind in KINDS for path in _found(obj.get("spec"), "spec"))


def _found(value: Any, path: str, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        called = value.get("name")
        if isinstance(called, str) and is_plain_secret(called, value.get("value")):  # an environment variable
            yield f"{path}.value"
        for key, each in value.items():
            if key != REFERENCES:
                yield from _found(each, f"{path}.{name_of(key)}", str(key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _found(each, f"{path}[{number}]", name)
    elif is_plain_secret(name, value):
        yield path
    elif isinstance(value, str) and "=" in value:
        yield from _options(value, path)


def _options(text: str, path: str) -> Iterator[str]:
    """Options in INI format, such as those of customServiceConfig."""
    section = ""
    for line in text.splitlines():
        option, found, value = (part.strip() for part in line.partition("="))
        if option.startswith("[") and option.endswith("]"):
            section = f"[{name_of(option[1:-1])}]"
        elif found and not option.startswith(("#", ";")) and is_plain_secret(option, value):
            yield " ".join(filter(None, (path, section, name_of(option))))
