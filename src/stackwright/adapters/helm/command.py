"""Runs the `helm` program: one process per release, several in parallel, without waiting for pods.

Each process gets its values in a file that only its owner can read, and the cache, config and data folders of this
object, so the user's Helm settings have no effect. Helm's error output is reduced to the lines that name the cause.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from stackwright.adapters.helm import rendered
from stackwright.adapters.helm.output import output
from stackwright.adapters.helm.records import check_records
from stackwright.core.digest import LENGTH
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.limits import CALL_SECONDS, HISTORY, PARALLEL
from stackwright.core.helm.records import BUNDLE_LABEL, DIGEST_LABEL, bundle_label, error_message, is_transient
from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.core.objects import MANAGED, key_of
from stackwright.core.plan import HelmUpgrade, Key
from stackwright.core.ports import Fence, Reader, unfenced
from stackwright.slots import FairSlots

KUBERNETES = f"{OLDEST_TEXT}.0"  # without a cluster, Helm assumes another one, such as 1.20
_NOISE = re.compile(r"^(Error:\s*|INSTALLATION FAILED:\s*|UPGRADE FAILED:\s*|coalesce\.go|WARNING:|warning:)")
_KLOG = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] ")  # level and date, time, process, line of code
_POST_RENDER = "error while running post render"  # without _REFUSED, for example of a killed process
_REFUSED = re.compile(f"^{re.escape(rendered.REFUSED)}(.*)$", re.MULTILINE)
Check = Callable[[], Awaitable[None]]

LIBRARY = "\ntype: library"  # in Chart.yaml
PRIVILEGED = "stackwright.dev/privileged"  # annotation in Chart.yaml
# The watch of Secrets selects our label.
WATCHED = ",".join(f"{name}={value}" for name, value in MANAGED.items())


class ConcurrencyLimit:
    """At most `parallel` concurrent calls, `share` of them for one namespace, shared fairly by namespaces (`slots`)."""

    def __init__(self, parallel: int, share: int) -> None:
        self._slots = FairSlots(parallel, share)

    @contextlib.asynccontextmanager
    async def of(self, namespace: str, longest: float) -> AsyncIterator[None]:
        """A slot of a namespace. Raises TransientError if none frees within this many seconds."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._slots.of(namespace, asyncio.get_running_loop().time() + longest))
            except TimeoutError:
                raise TransientError(
                    f"Waiting for other releases of namespace {namespace}, which are in progress"
                ) from None
            yield


class HelmCli:
    """core.ports.Helm by the `helm` program."""

    def __init__(
        self,
        charts: Path | None = None,
        *,
        kubeconfig: str | None = None,
        binary: str = "helm",
        parallel: int = PARALLEL,
        share: int | None = None,
        timeout: float = CALL_SECONDS,
        records: Reader | None = None,
        fence: Fence = unfenced,
    ) -> None:
        """share: how many of the `parallel` processes may be for one namespace; None for all
        records: reads the records of releases, without a cache, for checks; None if records and charts are trusted
        fence: called before each start of Helm, which may have waited long for its slot
        """
        self._charts = charts
        self._kubeconfig = kubeconfig
        self._binary = binary
        self._slots = ConcurrencyLimit(parallel, share or parallel)
        self._timeout = timeout
        self._records = records
        self._fence = fence
        self._home = tempfile.TemporaryDirectory(prefix="stackwright-helm-")

    def close(self) -> None:
        self._home.cleanup()

    async def upgrade(self, action: HelmUpgrade) -> None:
        namespace, name = action.release
        labels = f"{DIGEST_LABEL}={action.digest},{BUNDLE_LABEL}={bundle_label(key_of(action.owner))},{WATCHED}"
        async with _values_file(action.values) as values:
            await self._run(
                namespace, "upgrade", "--install", name, self.chart(action.chart), *_version(action.version),
                "--namespace", namespace, "--values", values, "--reset-values", "--history-max", str(HISTORY),
                "--labels", labels, *self._guard(namespace, action.chart), check=self._check(action.release),
            )  # fmt: skip

    async def rollback(self, release: Key, revision: int, manifest: str) -> None:
        namespace, name = release
        words = ("rollback", name, str(revision), "--no-hooks", "--namespace", namespace, "--history-max", str(HISTORY))
        await self._run(namespace, *words, check=self._check(release, revision, manifest))

    async def uninstall(self, release: Key) -> None:
        namespace, name = release
        words = ("uninstall", name, "--no-hooks", "--namespace", namespace, "--ignore-not-found")
        await self._run(namespace, *words, check=self._check(release))

    async def render(self, chart: str, values: Mapping[str, Any], release: Key, version: str = "") -> str:
        """The manifests as YAML, without a cluster; for plans and tests."""
        namespace, name = release
        async with _values_file(values) as path:
            return await self._run(
                namespace, "template", name, self.chart(chart), *_version(version),
                "--namespace", namespace, "--values", path, "--kube-version", KUBERNETES,
            )  # fmt: skip

    def chart(self, name: str) -> str:
        """Path of a chart; a name without a slash is a shipped chart."""
        if name.startswith("-"):
            raise TerminalError("the name of a chart must not begin with -")
        if "/" in name:
            return name
        folder = self._charts or _shipped()
        if not (folder / name / "Chart.yaml").is_file():
            raise TerminalError(f"chart {name} does not exist in {folder}")
        return str(folder / name)

    def _guard(self, namespace: str, chart: str) -> tuple[str, ...]:
        """Options with which Helm applies only objects that may belong to the release, and runs no hooks."""
        if self._records is None:
            return ()
        rights = rendered.PRIVILEGED if chart in self._privileged else rendered.PLAIN
        words = ("-P", "-m", rendered.__name__, namespace, rights)
        return ("--no-hooks", "--post-renderer", sys.executable, *(f"--post-renderer-args={word}" for word in words))

    @functools.cached_property
    def _privileged(self) -> frozenset[str]:
        return privileged_charts(self._charts)

    def _check(self, release: Key, revision: int = 0, manifest: str | None = None) -> Check:
        async def check() -> None:
            if self._records is not None:
                await check_records(self._records, release, revision, manifest)

        return check

    async def _run(self, namespace: str, *arguments: str, check: Check | None = None) -> str:
        """check: runs after the wait for a slot, directly before Helm starts; raises an error to prevent the start."""
        async with self._slots.of(namespace, self._timeout):
            if check is not None:
                await check()
            self._fence()
            process = await asyncio.create_subprocess_exec(
                self._binary,
                *arguments,
                env=self._environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                out, err = await asyncio.wait_for(output(process), self._timeout)
            except TimeoutError:
                raise TransientError(
                    f"helm {arguments[0]} took longer than {self._timeout:.0f} s and was terminated"
                ) from None
            finally:  # also if this task is cancelled: an orphaned process would continue to write
                if process.returncode is None:
                    process.kill()
                    with contextlib.suppress(TerminalError):
                        await output(process)
        if process.returncode != 0:
            raise failure(arguments[0], err.decode(errors="replace"))
        return out.decode()

    def _environment(self) -> dict[str, str]:
        home = self._home.name
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "XDG_"))}
        ours = {name: f"{home}/{name.lower()}" for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
        return {**kept, **ours, **({"KUBECONFIG": self._kubeconfig} if self._kubeconfig else {})}


def failure(command: str, text: str) -> Exception:
    """Helm's error: TransientError if a retry may help, otherwise TerminalError, with each line that names a cause
    once.
    """
    if found := _REFUSED.search(text):
        return TerminalError(f"helm {command}: {found[1][:2000]}")
    lines = dict.fromkeys(_KLOG.sub("", line.strip()) for line in text.splitlines() if line.strip())
    useful = [
        line for line in lines if not line.startswith(("walk.go", "coalesce.go", "WARNING:", "warning:", "Use --debug"))
    ]
    reason = error_message(" ".join(useful))
    while (shorter := _NOISE.sub("", reason)) != reason:
        reason = shorter
    message = f"helm {command}: {reason[:2000] or 'failed without a message'}"
    return TransientError(message) if is_transient(text) or _POST_RENDER in text else TerminalError(message)


def _version(version: str) -> tuple[str, ...]:
    return ("--version", version) if version else ()


@contextlib.asynccontextmanager
async def _values_file(values: Mapping[str, Any]) -> AsyncIterator[str]:
    """A file with the values, as JSON, which is YAML. mkstemp makes it readable by its owner only."""
    handle, path = tempfile.mkstemp(prefix="stackwright-values-", suffix=".json")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(values, file)
        yield path
    finally:
        Path(path).unlink(missing_ok=True)


_digests: dict[Path, tuple[object, str]] = {}


def chart_digest(chart: Path) -> str:
    """Digest of all files of a chart, including those behind symbolic links (the library chart).

    Names, sizes and times are read at each call, contents only if one of these changed.
    """
    files = sorted(chart_files(chart))
    stamp = tuple((name, path.stat().st_mtime_ns, path.stat().st_size) for name, path in files)
    known = _digests.get(chart)
    if known is not None and known[0] == stamp:
        return known[1]
    total = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    found = total.hexdigest()[:LENGTH]
    _digests[chart] = (stamp, found)
    return found


def chart_files(folder: Path, under: str = "") -> list[tuple[str, Path]]:
    """All files by relative name; pathlib's walk does not follow links to folders. Compiled Python is left out: it is
    not part of the chart and depends on which scripts were imported.
    """
    found = []
    for entry in folder.iterdir():
        if entry.name == "__pycache__":
            continue
        name = f"{under}{entry.name}"
        found += chart_files(entry, f"{name}/") if entry.is_dir() else [(name, entry)]
    return found


def privileged_charts(charts: Path | None = None) -> frozenset[str]:
    """Shipped charts whose pods are privileged on their nodes, or whose objects grant rights in Kubernetes."""
    folder = charts or _shipped()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {path.parent.name: yaml.load(path.read_text(), loader) for path in folder.glob("*/Chart.yaml")}  # noqa: S506
    return frozenset(
        name for name, chart in found.items() if (chart.get("annotations") or {}).get(PRIVILEGED) == "true"
    )


def chart_digests(charts: Path | None = None) -> dict[str, str]:
    """Digest of each shipped chart by its name, without the library chart, which cannot be installed."""
    found = sorted((charts or _shipped()).glob("*/Chart.yaml"))
    return {path.parent.name: chart_digest(path.parent) for path in found if LIBRARY not in path.read_text()}


def chart_schemas(charts: Path | None = None) -> dict[str, Any]:
    """Schema of the values of each shipped chart by its name, without references to definitions."""
    paths = sorted((charts or _shipped()).glob("*/values.schema.json"))
    return {
        path.parent.name: _inlined(schema, schema.pop("definitions", {}))
        for path, schema in ((path, json.loads(path.read_text())) for path in paths)
    }


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    node = {**node, **definitions[name.removeprefix("#/definitions/")]} if (name := node.pop("$ref", "")) else node
    return {key: _inlined(child, definitions) for key, child in node.items()}


def _shipped() -> Path:
    from stackwright.assets import require

    return require("charts")
