"""Parses a tenant's clouds.yaml into the entry of one cloud, with allowed keys and values only.

The SDK takes an entry as arguments, some of which name code to run or files of this process. So keys come from an
allow-list, and values are strings, numbers and booleans. The text is limited in size, depth and number of values, and
has no aliases, which would expand a short text into a large one.

Parsing holds Python's lock, so it delays all tasks of the operator. libyaml counts the values before Python creates
them; a text of 64 KiB then costs at most about 40 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from stackwright.api.errors import name_of
from stackwright.core.bounds import DIRECTIVE

FILE_CHARACTERS = 64 * 1024  # of a clouds.yaml
AUTH = frozenset(
    {
        "auth_url", "username", "user_id", "password", "token", "system_scope", "trust_id", "tenant_name",
        "tenant_id", "project_name", "project_id", "user_domain_name", "user_domain_id", "project_domain_name",
        "project_domain_id", "domain_name", "domain_id", "default_domain", "default_domain_name", "default_domain_id",
        "application_credential_id", "application_credential_name", "application_credential_secret",
    }
)  # fmt: skip
AUTH_TYPES = ("password", "token", "v3applicationcredential", "v3password", "v3token")
TEXTS = ("region_name", "interface", "endpoint_type", "identity_api_version")
FLAGS = ("verify", "insecure")
# Keys per service, e.g. compute_api_version.
OF_SERVICE = re.compile(
    r"[a-z][a-z0-9_]{0,30}_(api_version|default_microversion|endpoint_override|interface|service_name|service_type)"
)
IGNORED = "regions"  # dashboards write it; it does not choose the region
ALLOWED = ", ".join(
    sorted((*TEXTS, *FLAGS, "auth", "auth_type", "<service>_api_version", "<service>_endpoint_override"))
)


class BadEntry(ValueError):
    """An invalid entry; the message contains all its errors and none of its values."""


DEEPEST = 20  # nesting levels
MOST = 2_000  # keys, values and collections; a cloud has about 35


class _Loader(yaml.CSafeLoader):
    """Texts such as 10:20:30 are not parsed as numbers, as in YAML 1.2: this would take quadratic time."""

    def number(self, node: yaml.ScalarNode) -> int | str:
        return str(node.value) if ":" in node.value else self.construct_yaml_int(node)

    def fraction(self, node: yaml.ScalarNode) -> float | str:
        return str(node.value) if ":" in node.value else self.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.fraction)


def entry_of(text: str, cloud: str) -> dict[str, Any]:
    """The entry of the cloud. Raises BadEntry that names all offending keys."""
    clouds = _clouds(text)
    entry = clouds.get(cloud)
    if not isinstance(entry, dict) or not isinstance(entry.get("auth"), dict):
        there = ", ".join(sorted(map(_name, clouds))[:20]) or "none"
        raise BadEntry(f"has no cloud {_name(cloud)}; its clouds: {there}")
    if errors := [*_errors(entry), *_auth_errors(entry["auth"])]:
        raise BadEntry("; ".join(f"clouds.{_name(cloud)}.{error}" for error in errors[:20]))
    return {key: value for key, value in entry.items() if key != IGNORED and value is not None}


def _clouds(text: str) -> dict[Any, Any]:
    if len(text) > FILE_CHARACTERS:
        raise BadEntry(f"is longer than {FILE_CHARACTERS // 1024} KiB")
    if DIRECTIVE.search(text):
        raise BadEntry("YAML directives (lines that begin with %) are not allowed")
    try:
        _check(yaml.parse(text, _Loader))
        clouds = (yaml.load(text, _Loader) or {}).get("clouds") or {}  # noqa: S506 - a restricted safe loader
    except BadEntry:
        raise
    except Exception:  # errors of YAML, and of dates, numbers and recursion depth
        raise BadEntry("is not YAML with a mapping `clouds`") from None
    if not isinstance(clouds, dict):
        raise BadEntry("is not YAML with a mapping `clouds`")
    return clouds


def _check(events: Iterable[yaml.Event]) -> None:
    """Raise BadEntry for the events of a text that is expensive to load."""
    depth = count = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        count += isinstance(event, yaml.NodeEvent)
        if isinstance(event, yaml.AliasEvent):
            raise BadEntry("YAML aliases are not allowed; write the value in each place")
        if depth > DEEPEST:
            raise BadEntry(f"is nested deeper than {DEEPEST} levels")
        if count > MOST:
            raise BadEntry(f"has more than {MOST} keys and values")


def _errors(entry: Mapping[Any, Any]) -> list[str]:
    found = []
    for key, value in entry.items():
        if key in ("auth", IGNORED) or value is None:
            continue
        if key in FLAGS:
            found += [] if isinstance(value, bool) else [f"{key} takes true or false"]
        elif key == "auth_type":
            found += [] if value in AUTH_TYPES else [f"{key} is not allowed; allowed: {', '.join(AUTH_TYPES)}"]
        elif key in TEXTS or (isinstance(key, str) and OF_SERVICE.fullmatch(key)):
            found += _text_errors(key, value)
        elif key == "cacert":
            found.append("cacert is not allowed: store the certificate in the key cacert of the Secret")
        else:
            found.append(f"{_name(key)} is not allowed; allowed: {ALLOWED}")
    return found


def _auth_errors(auth: Mapping[Any, Any]) -> list[str]:
    found = []
    for key, value in auth.items():
        if key not in AUTH:
            found.append(f"auth.{_name(key)} is not allowed; allowed: {', '.join(sorted(AUTH))}")
        elif value is not None:
            found += _text_errors(f"auth.{key}", value)
    return found


def _text_errors(where: str, value: object) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or _is_vast(value):
        return [f"{where} takes a string"]
    return [] if str(value).isprintable() else [f"{where} has control characters"]


def _is_vast(value: object) -> bool:
    """Whether a number is too large to print: Python refuses to convert more than 4,300 digits."""
    return isinstance(value, int) and value.bit_length() > 64


def _name(name: object) -> str:
    """A name as one short, printable line."""
    return "a number" if _is_vast(name) else name_of(name)
