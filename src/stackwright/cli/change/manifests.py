"""Manifests from files: YAML → objects that are known to be valid, or all that is wrong with them at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.registry import BY_KIND, CLOUD_KINDS, RESOURCES

if TYPE_CHECKING:
    from stackwright.core.ports import Reader

# The field manager of a user: as `kubectl apply --server-side`, so that the two can take turns on one object.
MANAGER = "kubectl"
LARGEST = 16 << 20  # bytes of a file; etcd takes 1.5 MiB for an object
Object = dict[str, Any]
# What a cloud's manifest may bring along; their content is the API server's to check.
COMPANIONS = {kind.kind: kind for kind in (NAMESPACE, SECRET, CONFIGMAP)}


class BadManifest(Exception):
    """One line an error."""


@dataclass(frozen=True)
class Manifest:
    """where   it was found; its errors begin with that
    placed  whether it names its namespace itself
    whole   whether its spec replaces the one that is there, also fields of other field managers
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
        errors = [f"{path}: there is nothing in it"]
    if errors:
        raise BadManifest("\n".join(errors))
    return found


def load_all(files: Sequence[Path], namespace: str | None) -> list[Manifest]:
    """All documents of all files, in order. Raises BadManifest with every error of every file.

    namespace  of all of them; None: the default one, for those that name none
    """
    from stackwright.cli.cluster import NAMESPACE as DEFAULT

    found: list[Manifest] = []
    errors: list[str] = []
    if [str(file) for file in files].count("-") > 1:
        raise BadManifest("-: standard input can be read once only")
    for file in files:
        try:
            found += load(file, namespace or DEFAULT)
        except BadManifest as error:
            errors.append(str(error))
    for each in found:
        there = each.obj["metadata"].get("namespace")
        if namespace and there and there != namespace:
            errors.append(f"{each.where}metadata.namespace: {there!r} is not that of --namespace, {namespace!r}")
    if errors:
        raise BadManifest("\n".join(errors))
    return found


async def check_changes(reader: Reader, manifests: list[Manifest]) -> None:
    """Not every field may change of what is there. Raises BadManifest with each change that the API would refuse."""
    from stackwright.controllers.validate import change_errors
    from stackwright.controllers.voters import KINDS
    from stackwright.core.objects import key_of
    from stackwright.core.ports import Refused
    from stackwright.runtime.cluster.specs import replace_spec
    from stackwright.runtime.memory import MemoryCluster

    kinds = {resource.KIND for resource in RESOURCES if hasattr(resource, "CHANGES")} | KINDS
    if not (concerned := [each for each in manifests if each.kind in kinds]):
        return
    merged = MemoryCluster(reader)  # with the fields that others wrote, and defaults
    errors: list[str] = []
    for each in concerned:
        before = await merged.get(each.kind, key_of(each.obj))
        try:
            after = await (partial(replace_spec, merged) if each.whole else merged.apply)(each.kind, each.obj, MANAGER)
            wrong = change_errors(before, after) if before else []
        except Refused as error:
            wrong = [str(error)]
        errors += [f"{each.where}{error}" for error in wrong]
    if errors:
        raise BadManifest("\n".join(errors))


def _documents(path: Path) -> Iterator[Any]:
    from stackwright.cli.change.yaml_documents import BadDocument, documents

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
        raise BadManifest(f"{path}: is not a text in UTF-8") from None
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
    from stackwright.cli.change.envelope import envelope_errors

    if not isinstance(document, dict):
        return None, ["is not a mapping; write apiVersion, kind, metadata and spec"]
    name = document.get("kind")
    kind = _kind(document)
    if kind is None:
        allowed = ", ".join([*BY_KIND, *COMPANIONS, "those of Cluster API, by their apiVersion"])
        return None, [f"kind: {_lacking(name)}; allowed: {allowed}"]
    errors = envelope_errors(document, kind)
    if kind.kind in BY_KIND:
        document = _without_nulls(document, kind)
        errors += _spec_errors(document, kind.kind)
    if errors:
        return None, [printable(error) for error in errors]
    meta = dict(document["metadata"])
    placed = kind.namespaced and bool(meta.get("namespace"))
    if kind.namespaced:
        meta["namespace"] = meta.get("namespace") or namespace
    content = {key: value for key, value in document.items() if key != "status"}
    # All versions of a kind have one schema, so an object of another one becomes one of that which is stored.
    return Manifest(kind, {**content, "apiVersion": kind.api_version, "metadata": meta}, placed=placed), []


def _lacking(name: Any) -> str:
    """What is wrong with a kind that we do not have."""
    from stackwright.api import reference
    from stackwright.api.errors import NOT_SUPPORTED, shown

    if isinstance(name, str) and name in reference.KINDS:
        return f"{name} {NOT_SUPPORTED}"
    return "is required" if name is None else f"unknown kind {shown(name)}"


def _kind(document: Object) -> Kind | None:
    """Of Cluster API any kind will do: its manifests of clusters have its own kinds and ours in one file."""
    from stackwright.controllers.infra.clusterapi import kind_of

    name, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(name, str):
        return None
    ours = BY_KIND[name].KIND if name in BY_KIND else COMPANIONS.get(name)
    return ours or (kind_of(api_version, name) if isinstance(api_version, str) else None)


def _without_nulls(document: Object, kind: Kind) -> Object:
    """A field that is null is one that is absent, as for `kubectl apply`; in free-form fields null is a value."""
    from stackwright.runtime.memory.shape import shape_of, without_declared_nulls

    spec = without_declared_nulls(shape_of(kind).field("spec"), document.get("spec"))
    return {**document, "spec": {} if spec is None else spec}


def _spec_errors(document: Object, name: str) -> list[str]:
    from pydantic import ValidationError

    from stackwright.adapters.helm.command import chart_schemas
    from stackwright.api.errors import messages
    from stackwright.controllers.validate import errors_of, values_errors_of
    from stackwright.core.settings import Settings

    spec = document["spec"]
    if not isinstance(spec, dict):
        return ["spec: is not a mapping"]
    if BY_KIND[name] in CLOUD_KINDS:
        meta = document.get("metadata")
        obj = {**document, "metadata": meta if isinstance(meta, dict) else {}, "spec": spec}
        return errors_of(obj, settings=Settings(schemas=chart_schemas()))
    model: Any = BY_KIND[name].model_fields["spec"].annotation
    try:
        model.model_validate(spec)
    except ValidationError as error:
        return messages(error, model)
    return values_errors_of(document, chart_schemas())
