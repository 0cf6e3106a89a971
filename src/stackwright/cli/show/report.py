"""`stackwright report`: a support bundle, which holds no secret.

Secrets are never read. Of all other objects, a value is blanked when its field's name says that it may be a secret, or
when it is a private key; environment variables and arguments are kept, for none of ours holds a secret. Logs are
those of the operator and of pods that are not ready.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster import NAMESPACE, OPERATOR_NAMESPACE, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

LINES = 2000
MODE = 0o600
# Fields of our kinds, of HelmBundles and of charts, whose content has any names.
FREE_FORM = ("services", "values", "releases", "settings", "conf", "overrides", "common")


def report(
    file: Annotated[Path, typer.Option("--file", "-f", dir_okay=False, help="Where to write it.")] = Path(
        "stackwright-report.tar.gz"
    ),
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Collect what helps to find a fault: objects, conditions, events, logs. Secrets are never read.

    For example:

      stackwright report

      stackwright report --file /tmp/cloud.tar.gz -n openstack
    """
    from stackwright.cli.cluster import connected, fail, run

    async def work() -> dict[str, str]:
        async with connected(kubeconfig) as cluster:
            return {**await objects(cluster, namespace), **await _logs(cluster, namespace)}

    found = run(work())
    try:
        bundle(file, found)
    except OSError as error:
        fail(f"--file {file}: {error.strerror or error}")
    common.echo(f"{file}: {len(found)} files; read it before you pass it on")


def bundle(path: Path, files: dict[str, str]) -> None:
    """A compressed archive that only its owner may read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
    os.fchmod(handle, MODE)  # it may have been there
    with os.fdopen(handle, "wb") as target, tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in sorted(files.items()):
            data = text.encode()
            entry = tarfile.TarInfo(f"stackwright-report/{name}")
            entry.size, entry.mtime, entry.mode = len(data), int(time.time()), MODE
            archive.addfile(entry, io.BytesIO(data))


async def objects(reader: Reader, namespace: str) -> dict[str, str]:
    """File name → JSON: our kinds, workloads, pods and events of the cloud and the operator; nodes and volumes."""
    from stackwright.api import kinds
    from stackwright.api.registry import RESOURCES
    from stackwright.core.ports import Conflict, NotYet, Refused

    built_in = (*kinds.WORKLOADS, kinds.JOB, kinds.POD, kinds.SERVICE, kinds.PVC, kinds.EVENT)
    asked = [(resource.KIND, namespace if resource.KIND.namespaced else "") for resource in RESOURCES]
    asked += [(kind, space) for kind in built_in for space in (namespace, OPERATOR_NAMESPACE)]
    asked += [(kind, "") for kind in (kinds.NODE, kinds.PV, kinds.STORAGE_CLASS)]

    async def one(kind: Any, space: str) -> tuple[str, str]:
        name = f"objects/{space or 'cluster'}/{kind.plural}.json"
        try:
            found = [blanked(obj) for obj in await reader.list(kind, space)]
        except (NotYet, Refused, Conflict) as error:
            return f"{name}.error", str(error)
        return name, json.dumps(found, indent=1, ensure_ascii=False, default=str)

    return dict(await asyncio.gather(*(one(kind, space) for kind, space in asked)))


def blanked(value: Any, name: str = "", within: bool = False, free: bool = False) -> Any:
    """A copy without what may be secret, and without what only fills pages.

    within  below a field whose name says that all of it may be secret
    free    below a field that takes values of any name; not in what refers to a key of a Secret
    """
    from stackwright.api.secrecy import HIDDEN, hidden, is_value, leads_to_secrets

    within = within or leads_to_secrets(name)
    free = (free or name in FREE_FORM) and not name.endswith("Ref")
    if isinstance(value, dict):
        if any(is_value(str(value.get(each) or ""), False) for each in ("name", "key")):  # a variable, or metadata
            value = {key: HIDDEN if key == "value" else item for key, item in value.items()}
        kept = {key: item for key, item in value.items() if key != "managedFields"}
        notes = kept.get("annotations")
        if isinstance(notes, dict):
            kept["annotations"] = {key: text for key, text in notes.items() if "last-applied" not in key}
        return {key: blanked(item, str(key), within, free) for key, item in kept.items()}
    if isinstance(value, list):
        return [blanked(item, name, within, free) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, str):  # a password may be a number; one in a `config` is none
        return HIDDEN if within else value
    if within or is_value(name, free) or "PRIVATE KEY" in value:
        return HIDDEN
    return hidden(value)


async def _logs(cluster: KubernetesCluster, namespace: str) -> dict[str, str]:
    from stackwright.adapters.kubernetes.logs import Container, LogReader, Part
    from stackwright.api.kinds import POD
    from stackwright.api.secrecy import hidden
    from stackwright.cli.show.logs import streams_of
    from stackwright.core.ports import NotYet

    pods = await cluster.list(POD, OPERATOR_NAMESPACE)
    pods += [pod for pod in await cluster.list(POD, namespace) if not _well(pod)]
    client = LogReader(cluster)
    found: dict[str, str] = {}
    for stream in streams_of(pods, None)[0]:
        place = Container(stream.namespace, stream.pod, stream.container)
        try:
            lines = [line async for line in client.lines(place, Part(tail=LINES), follow=False)]
        except NotYet as error:
            lines = [str(error)]
        text = "\n".join(lines)
        found[f"logs/{stream.namespace}/{stream.pod}/{stream.container}.log"] = hidden(text)
    return found


def _well(pod: Object) -> bool:
    from stackwright.core.conditions import find

    return (find(pod) or {}).get("status") == "True" or (pod.get("status") or {}).get("phase") == "Succeeded"
