"""Manifests from files: YAML → valid objects, or all errors at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.registry import BY_KIND, RESOURCES

if TYPE_CHECKING:
    from stackwright.core.ports import Reader

# The field manager of a user: that of `kubectl apply --server-side`, so that users can use both on one object.
MANAGER = "kubectl"
LARGEST = 16 << 20  # bytes of a file; etcd takes 1.5 MiB for an object
Object = dict[str, Any]
# Other kinds that a manifest may contain. The API server validates their content; here only the types are checked.
COMPANIONS = {kind.kind: kind for kind in (NAMESPACE, SECRET, CONFIGMAP)}


class BadManifest(Exception):
    """One line for each error."""


@dataclass(frozen=True)
class Manifest:
    """where   file and document; its errors begin with it
    placed  whether it names its namespace
    whole   whether its spec replaces the existing one, also fields of other field managers
    """

    kind: Kind
    obj: Object
    where: str = ""
    placed: bool = False
    whole: bool = False

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
        errors = [f"{path}: contains no manifest"]
    if errors:
        raise BadManifest("\n".join(errors))
    return found


def load_all(files: Sequence[Path], namespace: str | None) -> list[Manifest]:
    """All documents of all files, in order, equal ones once. Raises BadManifest with every error of every file.

    namespace  of all manifests; None: the default namespace for those that name none
    """
    from stackwright.cli.cluster.connection import NAMESPACE as DEFAULT

    found: list[Manifest] = []
    errors: list[str] = []
    if [str(file) for file in files].count("-") > 1:
        raise BadManifest("-: standard input can be read only once")
    for file in files:
        try:
            found += load(file, namespace or DEFAULT)
        except BadManifest as error:
            errors.append(str(error))
    for each in found:
        there = each.obj["metadata"].get("namespace")
        if namespace and there and there != namespace:
            errors.append(f"{each.where}metadata.namespace: {there!r} differs from --namespace {namespace!r}")
    single, different = without_repeats(found)
    if errors := [*errors, *different]:
        raise BadManifest("\n".join(errors))
    return single


def without_repeats(manifests: list[Manifest]) -> tuple[list[Manifest], list[str]]:
    """The first manifest of each object, and an error for each later one that differs from it."""
    from stackwright.core.objects import key_of

    found: dict[tuple[Kind, tuple[str, str]], Manifest] = {}
    errors: list[str] = []
    for each in manifests:
        identity = (each.kind, key_of(each.obj))
        first = found.setdefault(identity, each)
        if json.dumps(first.obj, sort_keys=True) != json.dumps(each.obj, sort_keys=True):
            place = first.where.removesuffix(": ")
            errors.append(f"{each.where}{each.name} is also in {place} with other content; remove one of them")
        found[identity] = replace(first, placed=first.placed or each.placed)
    return list(found.values()), errors


async def check_changes(reader: Reader, manifests: list[Manifest]) -> None:
    """Raises BadManifest with each change of an immutable field."""
    from stackwright.admission.validate import change_errors
    from stackwright.admission.voters import KINDS
    from stackwright.core.errors import TerminalError
    from stackwright.core.objects import key_of
    from stackwright.runtime.cluster.specs import replace_spec
    from stackwright.runtime.memory import MemoryCluster

    kinds = {resource.KIND for resource in RESOURCES if hasattr(resource, "CHANGES")} | KINDS
    if not (concerned := [each for each in manifests if each.kind in kinds]):
        return
    merged = MemoryCluster(reader)  # with the fields of other clients, and defaults
    errors: list[str] = []
    for each in concerned:
        before = await merged.get(each.kind, key_of(each.obj))
        try:
            after = await (partial(replace_spec, merged) if each.whole else merged.apply)(each.kind, each.obj, MANAGER)
            wrong = change_errors(before, after) if before else []
        except TerminalError as error:
            wrong = [str(error)]
        errors += [f"{each.where}{error}" for error in wrong]
    if errors:
        raise BadManifest("\n".join(errors))


def _documents(path: Path) -> Iterator[Any]:
    from stackwright.cli.manifests.yaml_documents import BadDocument, documents

    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadManifest(f"{path}: has more than {LARGEST >> 20} MiB")
        text = data.decode()
    except UnicodeDecodeError:
        raise BadManifest(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise BadManifest(f"{path}: {error.strerror}") from None
    try:
        yield from documents(text)
    except BadDocument as error:
        line = f", line {error.line}" if error.line else ""
        column = f", column {error.column}" if error.column else ""
        raise BadManifest(f"{path}{line}{column}: {error}") from None


def check(document: Any, namespace: str) -> tuple[Manifest | None, list[str]]:
    """One document: the manifest, or its errors."""
    from stackwright.api.errors import printable
    from stackwright.cli.manifests.envelope import companion_errors, envelope_errors

    if not isinstance(document, dict):
        return None, ["is not a mapping; write apiVersion, kind, metadata and spec"]
    name = document.get("kind")
    kind = _kind(document)
    if kind is None:
        return None, [f"kind: {_lacking(name)}"]
    errors = envelope_errors(document, kind)
    if kind.kind in BY_KIND:
        document = _without_nulls(document, kind)
        errors += _spec_errors(document)
    else:
        errors += companion_errors(document, kind)
    if errors:
        return None, [printable(error) for error in errors]
    meta = dict(document["metadata"])
    placed = kind.namespaced and bool(meta.get("namespace"))
    if kind.namespaced:
        meta["namespace"] = meta.get("namespace") or namespace
    content = {key: value for key, value in document.items() if key != "status"}
    # All versions of a kind have one schema, so an object of another version is written as the stored version.
    return Manifest(kind, {**content, "apiVersion": kind.api_version, "metadata": meta}, placed=placed), []


def _lacking(name: Any) -> str:
    """The error for an unknown kind."""
    from stackwright.api import reference
    from stackwright.api.errors import NOT_SUPPORTED, shown_name
    from stackwright.api.wording import choices

    known = [*BY_KIND, *COMPANIONS, "kinds of Cluster API (with an apiVersion of its groups)"]
    if isinstance(name, str) and name in reference.KINDS:
        return f"{name} {NOT_SUPPORTED}; allowed: {', '.join(known)}"
    return f"{'is required' if name is None else f'unknown kind {shown_name(name)}'}; {choices(name, known)}"


def _kind(document: Object) -> Kind | None:
    """Any kind of Cluster API is accepted: its manifests of clusters contain its own kinds and ours."""
    from stackwright.controllers.infra.clusterapi import kind_of

    name, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(name, str):
        return None
    ours = BY_KIND[name].KIND if name in BY_KIND else COMPANIONS.get(name)
    return ours or (kind_of(api_version, name) if isinstance(api_version, str) else None)


def _without_nulls(document: Object, kind: Kind) -> Object:
    """The spec without null fields, as `kubectl apply` treats them; in free-form fields null is a value."""
    from stackwright.runtime.memory.shape import shape_of, without_declared_nulls

    spec = without_declared_nulls(shape_of(kind).field("spec"), document.get("spec"))
    return {**document, "spec": {} if spec is None else spec}


def _spec_errors(document: Object) -> list[str]:
    """Those that admission reports, but for what only the operator's settings forbid."""
    from stackwright.adapters.helm.command import chart_schemas
    from stackwright.admission.validate import errors_of
    from stackwright.core.settings import Settings

    if not isinstance(document["spec"], dict):
        return ["spec: must be a mapping of fields"]
    meta = document.get("metadata")
    obj = {**document, "metadata": meta if isinstance(meta, dict) else {}}
    return errors_of(obj, settings=Settings(schemas=chart_schemas(), unrestricted=True))
