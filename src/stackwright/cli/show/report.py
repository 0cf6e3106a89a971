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
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.state.access import replace
from stackwright.core.settings import OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.api.meta import Kind
    from stackwright.cli.state.pods import Stream
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

    ReadLog = Callable[[Stream], AsyncIterator[str]]

LINES = 2000
MODE = 0o600
FOLDER = "stackwright-report"  # in the archive
MISSING = "missing.txt"  # in the archive
NAMED = 10  # missing parts that are printed


@dataclass
class Report:
    """files  name → content. missing  name of an unreadable part → reason"""

    files: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, str]:
        """The files, and a list of the missing parts."""
        lines = [f"{what}: {why}\n" for what, why in self.missing.items()]
        return {**self.files, **({MISSING: "".join(lines)} if lines else {})}


def report(
    file: Annotated[
        Path, typer.Option("--file", "-f", dir_okay=False, help="File of the report; an earlier report is replaced.")
    ] = Path("stackwright-report.tar.gz"),
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Collect objects, conditions, events and logs for the diagnosis of a fault. Secrets are never read.

    Exit code 0 if the report was written, also if parts of the cluster could not be read: they are named, and listed
    in missing.txt of the report; 1 if nothing could be read, or the file could not be written.

    For example:

      stackwright report

      stackwright report --file /tmp/cloud.tar.gz -n openstack
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import fail, run

    async def work() -> Report:
        async with connected(kubeconfig) as cluster:
            return await collected(cluster, namespace, _log_reader(cluster))

    try:
        if is_foreign(file):
            fail(f"--file {file}: exists and is not a report, so it was not replaced; name a new file")
        found = run(work())
        bundle(file, found.all())
    except OSError as error:
        fail(f"--file {file}: {error.strerror or error}")
    for what, why in list(found.missing.items())[:NAMED]:
        common.echo(f"Missing: {what}: {why}", err=True)
    if len(found.missing) > NAMED:
        common.echo(f"Missing: {len(found.missing) - NAMED} more; {MISSING} in the report lists all", err=True)
    common.echo(f"{file}: {len(found.all())} files; check the content before you share it")


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


async def collected(reader: Reader, namespace: str, logs: ReadLog) -> Report:
    """Our kinds, workloads, pods and events of the cloud and the operator; nodes and volumes; logs.

    Unreadable parts are listed as missing. Raises the error of the first kind if none can be read.
    """
    from stackwright.api.kinds import POD

    lists = await _lists(reader, namespace)
    errors = [found for found in lists.values() if isinstance(found, Exception)]
    if len(errors) == len(lists):
        raise errors[0]
    report = Report()
    for (kind, space), found in lists.items():
        if isinstance(found, Exception):
            report.missing[f"objects of kind {kind.kind}" + (f" in namespace {space}" if space else "")] = str(found)
        else:
            report.files[f"objects/{space or 'cluster'}/{kind.plural}.json"] = _json(found)
    for space in dict.fromkeys((OPERATOR_NAMESPACE, namespace)):
        pods = lists[POD, space]
        if isinstance(pods, Exception):
            report.missing[f"logs in namespace {space}"] = "its pods could not be listed"
        else:
            await _add_logs(report, [pod for pod in pods if space == OPERATOR_NAMESPACE or not _well(pod)], logs)
    return report


async def _lists(reader: Reader, namespace: str) -> dict[tuple[Kind, str], list[Object] | Exception]:
    """Kind and namespace (empty: cluster-scoped) → its objects, or the error of the read."""
    from stackwright.api import kinds
    from stackwright.cloud.registry import RESOURCES
    from stackwright.core.errors import Conflict, TerminalError, TransientError

    built_in = (*kinds.WORKLOADS, kinds.JOB, kinds.POD, kinds.SERVICE, kinds.PVC, kinds.EVENT)
    asked = [(resource.KIND, namespace if resource.KIND.namespaced else "") for resource in RESOURCES]
    asked += [(kind, space) for kind in built_in for space in (namespace, OPERATOR_NAMESPACE)]
    asked += [(kind, "") for kind in (kinds.NODE, kinds.PV, kinds.STORAGE_CLASS)]

    async def one(kind: Kind, space: str) -> list[Object] | Exception:
        try:
            return await reader.list(kind, space)
        except (TransientError, TerminalError, Conflict) as error:
            return error

    return dict(zip(asked, await asyncio.gather(*(one(*each) for each in asked)), strict=True))


def _json(found: list[Object]) -> str:
    from stackwright.api.secrecy import blanked

    return json.dumps([blanked(slim(obj)) for obj in found], indent=1, ensure_ascii=False, default=str)


def slim(value: Any) -> Any:
    """A copy without long fields that do not help a diagnosis."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: slim(item) for key, item in value.items() if key != "managedFields"}
    if isinstance(notes := kept.get("annotations"), dict):
        kept["annotations"] = {key: text for key, text in notes.items() if "last-applied" not in key}
    return kept


def _log_reader(cluster: KubernetesCluster) -> ReadLog:
    from stackwright.adapters.kubernetes.logs import Container, LogRange, LogReader

    client = LogReader(cluster)

    def lines(stream: Stream) -> AsyncIterator[str]:
        place = Container(stream.namespace, stream.pod, stream.container)
        return client.lines(place, LogRange(tail=LINES), follow=False)

    return lines


async def _add_logs(report: Report, pods: list[Object], logs: ReadLog) -> None:
    from stackwright.api.secrecy import hidden
    from stackwright.cli.state.pods import streams_of
    from stackwright.core.errors import TransientError

    for stream in streams_of(pods, None)[0]:
        name = f"{stream.namespace}/{stream.pod}/{stream.container}"
        text = ""
        try:
            async for line in logs(stream):
                text += f"{line}\n"
        except TransientError as error:
            report.missing[f"{'rest of the ' if text else ''}log {name}"] = str(error)
        if text:
            report.files[f"logs/{name}.log"] = hidden(text)


def _well(pod: Object) -> bool:
    from stackwright.core.conditions import find

    return (find(pod) or {}).get("status") == "True" or (pod.get("status") or {}).get("phase") == "Succeeded"
