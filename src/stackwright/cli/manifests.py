"""Manifests from files: YAML → objects that are known to be valid, or all that is wrong with them at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.api.registry import BY_KIND, CLOUD_KINDS, SERVER_KINDS

if TYPE_CHECKING:
    from stackwright.core.ports import Reader

# The field manager of a user: as `kubectl apply --server-side`, so that the two can take turns on one object.
MANAGER = "kubectl"
Object = dict[str, Any]
# What a cloud's manifest may bring along; their content is the API server's to check.
COMPANIONS = {kind.kind: kind for kind in (NAMESPACE, SECRET, CONFIGMAP)}
_TOP = {"apiVersion", "kind", "metadata", "spec", "status"}


class BadManifest(Exception):
    """One line an error."""


@dataclass(frozen=True)
class Manifest:
    """`where` it was found; its errors begin with that."""

    kind: Kind
    obj: Object
    where: str = ""

    @property
    def name(self) -> str:
        meta = self.obj["metadata"]
        return f"{self.kind.kind} " + "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)


def load(path: Path, namespace: str) -> list[Manifest]:
    """All documents of a file (`-`: standard input). Raises BadManifest with every error of every document."""
    found: list[Manifest] = []
    errors: list[str] = []
    documents = list(_documents(path))
    for number, document in enumerate(documents, 1):
        where = f"{path}: " if len(documents) == 1 else f"{path}: document {number}: "
        manifest, wrong = check(document, namespace)
        errors += [f"{where}{error}" for error in wrong]
        if manifest is not None:
            found.append(replace(manifest, where=where))
    if not documents:
        errors = [f"{path}: there is nothing in it"]
    if errors:
        raise BadManifest("\n".join(errors))
    return found


async def check_changes(reader: Reader, manifests: list[Manifest]) -> None:
    """Not every field may change of what is there. Raises BadManifest with each change that the API would refuse."""
    kinds = {resource.KIND for resource in SERVER_KINDS}
    if not (concerned := [each for each in manifests if each.kind in kinds]):
        return
    from stackwright.api.immutability import update_errors
    from stackwright.core.objects import key_of
    from stackwright.core.ports import Refused
    from stackwright.runtime.memory import MemoryCluster

    merged = MemoryCluster(reader)  # with the fields that others wrote, and defaults
    errors: list[str] = []
    for each in concerned:
        before = await merged.get(each.kind, key_of(each.obj))
        try:
            after = await merged.apply(each.kind, each.obj, MANAGER)
            wrong = update_errors(before, after) if before else []
        except Refused as error:
            wrong = [str(error)]
        errors += [f"{each.where}{error}" for error in wrong]
    if errors:
        raise BadManifest("\n".join(errors))


def _documents(path: Path) -> Iterator[Any]:
    import yaml

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except UnicodeDecodeError:
        raise BadManifest(f"{path}: is not a text in UTF-8") from None
    except OSError as error:
        raise BadManifest(f"{path}: {error.strerror}") from None
    try:
        yield from (document for document in yaml.load_all(text, _loader()) if document is not None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadManifest(f"{path}{at}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadManifest(f"{path}: {error}") from None


def _loader() -> Any:
    """Refuses a key that is written twice: of two values the first would be lost without a word."""
    import yaml

    class Strict(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value} is here twice", key.start_mark
                    )
                seen.add(key.value if isinstance(key.value, str) else id(key))
            return super().construct_mapping(node, deep)

    return Strict


def check(document: Any, namespace: str) -> tuple[Manifest | None, list[str]]:
    """One document: the manifest, or its errors."""
    if not isinstance(document, dict):
        return None, ["is not a mapping; write apiVersion, kind, metadata and spec"]
    name = document.get("kind")
    kind = BY_KIND[name].KIND if name in BY_KIND else _companion(document)
    if kind is None:
        allowed = ", ".join([*BY_KIND, *COMPANIONS, "those of Cluster API, by their apiVersion"])
        return None, [f"kind: {'is required' if name is None else f'unknown kind {name!r}'}; allowed: {allowed}"]
    errors = _envelope(document, kind)
    if name in BY_KIND:
        errors += _spec_errors(document, str(name))
    if errors:
        return None, errors
    meta = dict(document["metadata"])
    if kind.namespaced:
        meta["namespace"] = meta.get("namespace") or namespace
    content = {key: value for key, value in document.items() if key != "status"}
    # All versions of a kind have one schema, so an object of another one becomes one of that which is stored.
    return Manifest(kind, {**content, "apiVersion": kind.api_version, "metadata": meta}), []


def _companion(document: Object) -> Kind | None:
    """Of Cluster API any kind will do: its manifests of clusters have its own kinds and ours in one file."""
    from stackwright.core.clusterapi import kind_of

    name, api_version = document.get("kind"), document.get("apiVersion")
    ours = COMPANIONS.get(str(name))
    return ours or (kind_of(api_version, name) if isinstance(name, str) and isinstance(api_version, str) else None)


def _envelope(document: Object, kind: Kind) -> list[str]:
    errors = []
    if document.get("apiVersion") not in kind.api_versions:
        allowed = ", ".join(kind.api_versions)
        errors.append(f"apiVersion: {document.get('apiVersion')!r} is not that of {kind}; allowed: {allowed}")
    meta = document.get("metadata")
    if not isinstance(meta, dict):
        errors.append("metadata: is required, with a name")
    elif not isinstance(meta.get("name"), str) or not meta["name"]:
        errors.append("metadata.name: is required")
    if kind.kind in BY_KIND:
        errors += [
            f"{key}: unknown field; allowed: apiVersion, kind, metadata, spec" for key in document if key not in _TOP
        ]
    return errors


def _spec_errors(document: Object, name: str) -> list[str]:
    from pydantic import ValidationError

    from stackwright.api.errors import messages
    from stackwright.controllers.validate import errors_of

    spec = {} if document.get("spec") is None else document["spec"]
    if not isinstance(spec, dict):
        return ["spec: is not a mapping"]
    if BY_KIND[name] in CLOUD_KINDS:
        meta = document.get("metadata")
        return errors_of({**document, "metadata": meta if isinstance(meta, dict) else {}, "spec": spec})
    model: Any = BY_KIND[name].model_fields["spec"].annotation
    try:
        model.model_validate(spec)
    except ValidationError as error:
        return messages(error, model)
    return []
