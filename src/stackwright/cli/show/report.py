"""`stackwright report`: a support bundle without secrets.

Secrets are never read. In all other objects, a value is blanked if its field's name suggests a secret, or
if it is a private key; environment variables and arguments are kept, as ours contain no secrets. The logs are
those of the operator and of pods that are not ready.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import tarfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.access import replace
from stackwright.cli.cluster import NAMESPACE, OPERATOR_NAMESPACE, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

LINES = 2000
MODE = 0o600
FOLDER = "stackwright-report"  # in the archive


def report(
    file: Annotated[
        Path, typer.Option("--file", "-f", dir_okay=False, help="File of the report; an earlier report is replaced.")
    ] = Path("stackwright-report.tar.gz"),
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Collect objects, conditions, events and logs for the diagnosis of a fault. Secrets are never read.

    For example:

      stackwright report

      stackwright report --file /tmp/cloud.tar.gz -n openstack
    """
    from stackwright.cli.cluster import connected, fail, run

    async def work() -> dict[str, str]:
        async with connected(kubeconfig) as cluster:
            return {**await objects(cluster, namespace), **await _logs(cluster, namespace)}

    try:
        if is_foreign(file):
            fail(f"--file {file}: exists and is not a report, so it was not replaced; name a new file")
        found = run(work())
        bundle(file, found)
    except OSError as error:
        fail(f"--file {file}: {error.strerror or error}")
    common.echo(f"{file}: {len(found)} files; check the content before you share it")


def is_foreign(path: Path) -> bool:
    """Whether a file has content and is not a report: other commands read manifests by `--file`."""
    if not path.is_file() or not path.stat().st_size:
        return False
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile):
        return True
    return first is None or not first.name.startswith(f"{FOLDER}/")


def bundle(path: Path, files: dict[str, str]) -> None:
    """A compressed archive that only its owner may read."""
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w:gz") as archive:
        for name, content in sorted(files.items()):
            data = content.encode()
            entry = tarfile.TarInfo(f"{FOLDER}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), int(time.time()), MODE
            archive.addfile(entry, io.BytesIO(data))
    if path.exists() and not path.is_file():  # a pipe
        path.write_bytes(text.getvalue())
    else:
        replace(path, text.getvalue(), MODE)


async def objects(reader: Reader, namespace: str) -> dict[str, str]:
    """File name → JSON: our kinds, workloads, pods and events of the cloud and the operator; nodes and volumes."""
    from stackwright.api import kinds
    from stackwright.api.secrecy import blanked
    from stackwright.cloud.registry import RESOURCES
    from stackwright.core.ports import Conflict, TerminalError, TransientError

    built_in = (*kinds.WORKLOADS, kinds.JOB, kinds.POD, kinds.SERVICE, kinds.PVC, kinds.EVENT)
    asked = [(resource.KIND, namespace if resource.KIND.namespaced else "") for resource in RESOURCES]
    asked += [(kind, space) for kind in built_in for space in (namespace, OPERATOR_NAMESPACE)]
    asked += [(kind, "") for kind in (kinds.NODE, kinds.PV, kinds.STORAGE_CLASS)]

    async def one(kind: Any, space: str) -> tuple[str, str]:
        name = f"objects/{space or 'cluster'}/{kind.plural}.json"
        try:
            found = [blanked(slim(obj)) for obj in await reader.list(kind, space)]
        except (TransientError, TerminalError, Conflict) as error:
            return f"{name}.error", str(error)
        return name, json.dumps(found, indent=1, ensure_ascii=False, default=str)

    return dict(await asyncio.gather(*(one(kind, space) for kind, space in asked)))


def slim(value: Any) -> Any:
    """A copy without fields that are long and of no use."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: slim(item) for key, item in value.items() if key != "managedFields"}
    if isinstance(notes := kept.get("annotations"), dict):
        kept["annotations"] = {key: text for key, text in notes.items() if "last-applied" not in key}
    return kept


async def _logs(cluster: KubernetesCluster, namespace: str) -> dict[str, str]:
    from stackwright.adapters.kubernetes.logs import Container, LogRange, LogReader
    from stackwright.api.kinds import POD
    from stackwright.api.secrecy import hidden
    from stackwright.cli.pods import streams_of
    from stackwright.core.ports import TransientError

    pods = await cluster.list(POD, OPERATOR_NAMESPACE)
    pods += [pod for pod in await cluster.list(POD, namespace) if not _well(pod)]
    client = LogReader(cluster)
    found: dict[str, str] = {}
    for stream in streams_of(pods, None)[0]:
        place = Container(stream.namespace, stream.pod, stream.container)
        try:
            lines = [line async for line in client.lines(place, LogRange(tail=LINES), follow=False)]
        except TransientError as error:
            lines = [str(error)]
        text = "\n".join(lines)
        found[f"logs/{stream.namespace}/{stream.pod}/{stream.container}.log"] = hidden(text)
    return found


def _well(pod: Object) -> bool:
    from stackwright.core.conditions import find

    return (find(pod) or {}).get("status") == "True" or (pod.get("status") or {}).get("phase") == "Succeeded"
