"""Checks of the objects in a Helm manifest: a strict parser, and the kinds that a release may contain. Pure.

The operator applies manifests with its own rights. The parsers of Helm and of API servers may read a text differently
than ours, so ambiguous texts are rejected. This module imports nothing slow, because Helm starts its post-renderer
(`adapters/helm/rendered.py`) with each release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from stackwright.core.bounds import DIRECTIVE

OF_CLUSTER = ("networking.k8s.io", "IngressClass")  # the only cluster-scoped kind
KINDS = frozenset(
    {
        ("", "ConfigMap"), ("", "PersistentVolumeClaim"), ("", "Service"), ("", "ServiceAccount"),
        ("apps", "DaemonSet"), ("apps", "Deployment"), ("apps", "StatefulSet"),
        ("batch", "CronJob"), ("batch", "Job"),
        ("networking.k8s.io", "Ingress"), ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding"),
    }
)  # fmt: skip
"""Group and kind of the namespaced objects in charts of HelmBundles. IngressClass is the only other kind."""
GRANTS = frozenset({("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding"), OF_CLUSTER})
"""Kinds that only charts with rights on nodes or in Kubernetes may create."""
MOST = 500
"""Maximum number of documents in a manifest, of levels in a document, and of keys in the levels that are checked."""
_SEPARATOR = re.compile(r"^---.*$", re.MULTILINE)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Helm's parser is a port of the C one
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}")


class Unreadable(ValueError):
    """A text that cannot be trusted; the message is a predicate with the cause, without values of the text."""


def foreign(manifest: str, namespace: str, privileged: bool) -> str:
    """The kind and name of the first object that a release may not contain, and the cause; empty if all are allowed.

    privileged  whether the chart has rights on nodes or in Kubernetes

    Raises Unreadable. Helm itself rejects an IngressClass of another release.
    """
    for head in document_headers(manifest):
        kind = kind_of(head)
        if kind not in (KINDS | GRANTS if privileged else KINDS - GRANTS):
            return f"{_title(head)}, of a kind that this chart may not create"
        if (place := head.get("metadata.namespace", namespace)) != namespace:
            return f"{_title(head)} in namespace {_word(place)}, not in {namespace}"
    return ""


def kind_of(head: dict[str, str]) -> tuple[str, str]:
    """API group and kind of an object by its header."""
    return head.get("apiversion", "").rpartition("/")[0], head.get("kind", "")


def _title(head: dict[str, str]) -> str:
    return f"{_word(head.get('kind'))} {_word(head.get('metadata.name'))}"


def _word(text: str | None) -> str:
    """The text if it is a valid name in Kubernetes; any other text may be a secret or control a terminal."""
    return text if text and _WORD.fullmatch(text) else "(no valid name)"


def document_headers(manifest: object) -> list[dict[str, str]]:
    """For each document: apiversion, kind, metadata.name and metadata.namespace, if present, and the other strings of
    these levels. Raises Unreadable.
    """
    if not isinstance(manifest, str):
        raise Unreadable("has a manifest that is not a string")
    if any(line.rstrip() != "---" for line in map(re.Match.group, _SEPARATOR.finditer(manifest))):
        raise Unreadable("has a manifest with text beside a separator of documents")
    if DIRECTIVE.search(manifest):
        raise Unreadable("has a manifest with directives of YAML")
    if len(documents := _SEPARATOR.split(manifest, MOST)) > MOST:
        raise Unreadable("has a manifest with too many documents")
    if any(text.strip() != text.strip(" \n") for text in documents):  # YAML keeps white space that Helm trims
        raise Unreadable("has a manifest with white space other than blanks around a document")
    try:
        found = [_head(yaml.parse(text, Loader=_LOADER)) for text in documents]
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Unreadable("has a manifest that cannot be read") from None
    return [head for head in found if head is not None]


class _Level:
    """A collection being parsed: the `prefix` of its keys, None if they are not checked, and the `key` of the next
    value.
    """

    def __init__(self, prefix: str | None) -> None:
        self.prefix, self.key = prefix, ""


def _head(events: Iterable[Any]) -> dict[str, str] | None:
    """The header of one document; None if it is empty. Parsing by events bounds the memory for a hostile text."""
    found: dict[str, str] = {}
    levels: list[_Level] = []
    seen: set[str] = set()
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and ("" in seen or event.explicit or event.version or event.tags):
            raise ValueError
        if isinstance(event, yaml.CollectionEndEvent):
            levels.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        level = levels[-1] if levels else None
        prefix = None
        if level is None:
            if not isinstance(event, yaml.MappingStartEvent) or event.flow_style or seen:
                raise ValueError  # Kubernetes reads {…} as JSON
            seen.add("")
            prefix = ""
        matters = level is None or level.prefix is not None
        if matters and (event.anchor or event.tag):  # an alias has an anchor too
            raise ValueError
        if level is not None and level.prefix is not None:
            if not level.key:
                level.key = _key(event, level.prefix, seen)
                continue
            if isinstance(event, yaml.ScalarEvent):
                found[level.key] = event.value
            elif isinstance(event, yaml.MappingStartEvent) and level.key == "metadata":
                prefix = "metadata."
            level.key = ""
        if isinstance(event, yaml.CollectionStartEvent):
            if len(levels) >= MOST:
                raise ValueError
            levels.append(_Level(prefix))
    return found if seen else None


def _key(event: Any, prefix: str, seen: set[str]) -> str:
    """The key with its prefix, in lower case. Raises ValueError for a duplicate in any case: some parsers ignore case,
    and parsers differ in which duplicate they use. Keys of Kubernetes in these levels consist of letters only.
    """
    if not isinstance(event, yaml.ScalarEvent) or not (event.value.isascii() and event.value.isalpha()):
        raise ValueError
    key = prefix + event.value.casefold()
    if key in seen or key == "items" or len(seen) > MOST:  # the objects in a list would not be checked
        raise ValueError
    seen.add(key)
    return key
