"""Check of a release's records before Helm acts on them.

Helm trusts its records: it deletes, patches and creates the objects in them, in any namespace that these name, and runs
their hooks, all with the operator's rights. But every user who may write Secrets in a namespace can forge a record. So
Helm is started only if each object is of a kind in shipped charts and in the release's own namespace; shipped charts
have no hooks. A text that Helm's parsers may read differently from ours is rejected.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any

import yaml

from stackwright.api.kinds import INGRESS_CLASS, SECRET
from stackwright.core.helm.records import PAYLOAD, SELECTOR, Unreadable, record_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader, TerminalError

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
MOST = 500
"""Maximum number of documents in a manifest, of levels in a document, and of keys in the levels that are checked."""
_SEPARATOR = re.compile(r"^---.*$", re.MULTILINE)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Helm's parser is a port of the C one


async def check_records(reader: Reader, release: Key, revision: int = 0) -> None:
    """Raise TerminalError unless all records of a release hold only objects that may belong to it.

    reader    without a cache, since it must read what Helm will read
    revision  target of a rollback, if any; Helm finds it by the name of its Secret, and the other ones by labels
    """
    namespace, name = release
    secrets = await reader.list(SECRET, namespace, {**SELECTOR, "name": name})
    if revision:
        target = await reader.get(SECRET, (namespace, f"sh.helm.release.v1.{name}.v{revision}"))
        secrets = [*secrets, *([target] if target else [])]
    for secret in secrets:
        try:
            classes = await asyncio.to_thread(_classes, secret, release)
            for each in classes:
                await _check_class(reader, release, each)
        except Unreadable as error:
            record = f"Secret {namespace}/{secret['metadata']['name']}"
            raise TerminalError(
                f"{record}, a record of release {name}, {error}, so Helm would change objects of other releases; "
                "find out who wrote that Secret, and delete it"
            ) from None


def _classes(secret: Object, release: Key) -> frozenset[str]:
    """Names of the IngressClasses in a record. Raises Unreadable for any object that is not of the release."""
    namespace, name = release
    record = record_of((secret.get("data") or {}).get(PAYLOAD))
    if record.get("hooks"):
        raise Unreadable("has hooks")
    if (record.get("namespace"), record.get("name")) != (namespace, name):
        raise Unreadable("belongs to another release")
    found = set()
    for head in document_headers(record.get("manifest") or ""):
        kind = (head.get("apiversion", "").rpartition("/")[0], head.get("kind", ""))
        if kind in KINDS and head.get("metadata.namespace", namespace) == namespace:
            continue
        if kind != (INGRESS_CLASS.group, INGRESS_CLASS.kind) or not head.get("metadata.name"):
            raise Unreadable("contains an object of another namespace, or of a kind that no shipped chart creates")
        found.add(head["metadata.name"])
    return frozenset(found)


async def _check_class(reader: Reader, release: Key, name: str) -> None:
    """Raise Unreadable unless the IngressClass is absent or has Helm's annotations of this release.

    A user with rights in one namespace cannot annotate a cluster-scoped object.
    """
    found = await reader.get(INGRESS_CLASS, ("", name))
    marks = (found or {"metadata": {}})["metadata"].get("annotations") or {}
    if found and (marks.get("meta.helm.sh/release-namespace"), marks.get("meta.helm.sh/release-name")) != release:
        raise Unreadable("contains an IngressClass of another release")


def document_headers(manifest: object) -> list[dict[str, str]]:
    """For each document: apiversion, kind, metadata.name and metadata.namespace, if present, and the other strings of
    these levels. Raises Unreadable.
    """
    if not isinstance(manifest, str):
        raise Unreadable("has a manifest that is not a string")
    if any(line.rstrip() != "---" for line in map(re.Match.group, _SEPARATOR.finditer(manifest))):
        raise Unreadable("has a manifest with text beside a separator of documents")
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
    """An open collection: `prefix` of its keys, None if they do not matter, and the `key` whose value is next."""

    def __init__(self, prefix: str | None) -> None:
        self.prefix, self.key = prefix, ""


def _head(events: Iterable[Any]) -> dict[str, str] | None:
    """The head of one document, None if it is empty. Parsing by events bounds the memory for a hostile text."""
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
    """The key with its prefix, in lower case. Some parsers ignore case and differ in which duplicate counts, so there
    must be none in any case. Keys of Kubernetes in these levels consist of letters only.
    """
    if not isinstance(event, yaml.ScalarEvent) or not (event.value.isascii() and event.value.isalpha()):
        raise ValueError
    key = prefix + event.value.casefold()
    if key in seen or key == "items" or len(seen) > MOST:  # the objects in a list would not be checked
        raise ValueError
    seen.add(key)
    return key
