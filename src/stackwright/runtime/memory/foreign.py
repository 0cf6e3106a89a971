"""Helm, contents, agents, clock and entropy in memory: they record calls and can be configured to fail.

`fail` maps a target (a chart, a service) to the exception to raise, until the entry is removed. `refuse` of
MemoryHelm maps a chart to an error of Kubernetes, for which Helm writes a failed record. MemoryHelm writes the same
objects to the cluster as Helm: the record Secret and the workloads.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import string
from collections.abc import Callable, Mapping
from typing import Any

from stackwright.api.kinds import DAEMONSET, DEPLOYMENT, JOB, SECRET, STATEFULSET
from stackwright.api.meta import Kind
from stackwright.core.errors import TerminalError
from stackwright.core.helm.limits import HISTORY
from stackwright.core.helm.records import (
    BUNDLE_LABEL,
    DIGEST_LABEL,
    bundle_label,
    manifest_digest,
    record_name,
)
from stackwright.core.objects import MANAGED, key_of
from stackwright.core.plan import DeleteAgents, HelmUpgrade, Inventory, Key, Object
from stackwright.core.ports import Clock
from stackwright.runtime.memory.cluster import MemoryCluster

Workloads = Callable[[str, Mapping[str, Any]], list[Object]]
RELEASE_LABEL = "app.kubernetes.io/instance"
_KINDS: Mapping[str, Kind] = {kind.kind: kind for kind in (DEPLOYMENT, STATEFULSET, DAEMONSET, JOB)}


class FrozenClock:
    """A clock that changes only when a test sets it."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        self.time = start

    def now(self) -> float:
        return self.time

    def forward(self, seconds: float) -> None:
        self.time += seconds


class SeededEntropy:
    """Generates the same passwords in each run; never for a real cloud."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - predictable by design

    def password(self) -> str:
        return "".join(self._random.choices(string.ascii_letters + string.digits, k=32))

    def fernet_key(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(32)).decode()


class MemoryContents:
    """`things` maps a back end to the names in it, and an agent to its uses."""

    def __init__(self) -> None:
        self.things: dict[str, list[str]] = {}

    async def held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        return {name: self.things.get(name, []) for name in action.holders}


class MemoryAgents:
    def __init__(self, fail: dict[str, Exception] | None = None) -> None:
        self.calls: list[DeleteAgents] = []
        self.fail = fail if fail is not None else {}

    async def forget(self, action: DeleteAgents, admin: Mapping[str, str]) -> dict[str, str]:
        self.calls.append(action)
        maybe_fail(self.fail, action.look.service)
        return {}


class MemoryHelm:
    """Releases as Helm stores them, with the workloads that `workloads(chart, values)` returns."""

    def __init__(self, cluster: MemoryCluster, clock: Clock, workloads: Workloads | None = None) -> None:
        self.calls: list[tuple[str, Key]] = []
        self.fail: dict[str, Exception] = {}
        self.refuse: dict[str, str] = {}  # chart → error of Kubernetes for its objects
        self._cluster = cluster
        self._clock = clock
        self._workloads = workloads or (lambda chart, values: [])
        self._charts: dict[tuple[Key, int], tuple[str, Mapping[str, Any], str, str]] = {}

    async def upgrade(self, action: HelmUpgrade) -> None:
        self.calls.append(("upgrade", action.release))
        maybe_fail(self.fail, action.chart)
        bundle = bundle_label(key_of(action.owner))
        if said := self.refuse.get(action.chart):
            before = await self._known(action.release)
            revision = max((int(each["metadata"]["labels"]["version"]) for each in before), default=0) + 1
            verb = "Upgrade" if before else "Release"
            self.record(
                action.release,
                revision,
                "failed",
                action.digest,
                bundle,
                f'{verb} "{action.release[1]}" failed: {said}',
            )
            raise TerminalError(f"helm upgrade: {said}")
        await self._install(action.release, (action.chart, action.values, action.digest, bundle))

    async def rollback(self, release: Key, revision: int, manifest: str) -> None:
        self.calls.append(("rollback", release))
        kept = {int(secret["metadata"]["labels"]["version"]): secret for secret in await self._known(release)}
        if revision not in kept or (release, revision) not in self._charts:
            raise TerminalError("helm rollback: release: not found")
        if manifest_digest(kept[revision]) != manifest:
            raise TerminalError(f"helm rollback: revision {revision} is not what Helm installed")
        chart, _, digest, bundle = content = self._charts[release, revision]
        if said := self.refuse.get(chart):
            await self._supersede(release)
            description = f'Rollback "{release[1]}" failed: {said}'
            self.record(release, max(kept) + 1, "failed", digest, bundle, description)
            raise TerminalError(f"helm rollback: {said}")
        await self._install(release, content)

    async def uninstall(self, release: Key) -> None:
        self.calls.append(("uninstall", release))
        for secret in await self._known(release):
            self._cluster.remove(SECRET, (release[0], secret["metadata"]["name"]))
        self._prune(release, keep=set())

    def record(
        self, release: Key, revision: int, state: str, digest: str = "", bundle: str = "", description: str = ""
    ) -> None:
        """Write the record of one revision in any state, e.g. pending-upgrade after a kill."""
        labels = {
            "owner": "helm", "name": release[1], "status": state, "version": str(revision),
            "modifiedAt": str(int(self._clock.now())), DIGEST_LABEL: digest, BUNDLE_LABEL: bundle, **MANAGED,
        }  # fmt: skip
        name = record_name(release[1], revision)
        fields = {"name": release[1], "info": {"description": description}, "manifest": f"# of {digest}"}
        content = json.dumps(fields).encode()
        payload = base64.b64encode(base64.b64encode(gzip.compress(content, mtime=0))).decode()
        meta = {"name": name, "namespace": release[0], "labels": labels}
        secret = {"metadata": meta, "type": "helm.sh/release.v1", "data": {"release": payload}}
        self._cluster.put(SECRET, secret)

    async def _install(self, release: Key, content: tuple[str, Mapping[str, Any], str, str]) -> None:
        revision = await self._supersede(release)
        self._charts[release, revision + 1] = content
        self.record(release, revision + 1, "deployed", *content[2:])
        made = set()
        for obj in self._workloads(content[0], content[1]):
            meta = {**obj["metadata"], "namespace": release[0]}
            meta["labels"] = {**(meta.get("labels") or {}), RELEASE_LABEL: release[1]}
            kind = _KINDS[obj["kind"]]
            made.add((kind, meta["name"]))
            live = self._cluster.peek(kind, (release[0], meta["name"])) or {}
            status = {"status": live["status"]} if "status" in live else {}  # Helm does not change it
            self._cluster.put(kind, {**obj, "metadata": meta, **status})
        self._prune(release, keep=made)

    async def _supersede(self, release: Key) -> int:
        """Mark the deployed record as superseded and drop the oldest records; returns the newest revision."""
        known = sorted(await self._known(release), key=lambda secret: int(secret["metadata"]["labels"]["version"]))
        for secret in known[: max(0, len(known) + 1 - HISTORY)]:
            if secret["metadata"]["labels"]["status"] != "deployed":
                self._cluster.remove(SECRET, (release[0], secret["metadata"]["name"]))
        for secret in known:
            labels = secret["metadata"]["labels"]
            if labels["status"] == "deployed":
                self._cluster.put(
                    SECRET, {**secret, "metadata": {**secret["metadata"], "labels": {**labels, "status": "superseded"}}}
                )
        return int(known[-1]["metadata"]["labels"]["version"]) if known else 0

    def _prune(self, release: Key, keep: set[tuple[Kind, str]]) -> None:
        for kind in _KINDS.values():
            for obj in self._cluster.all(kind, release[0], {RELEASE_LABEL: release[1]}):
                if (kind, obj["metadata"]["name"]) not in keep:
                    self._cluster.remove(kind, (release[0], obj["metadata"]["name"]))

    async def _known(self, release: Key) -> list[Object]:
        """Records, including those of the base cluster, because a plan starts from real releases."""
        return await self._cluster.list(SECRET, release[0], _selector(release))

    def records(self, release: Key) -> list[Object]:
        """Records, synchronously and without the base cluster; for tests."""
        return self._cluster.all(SECRET, release[0], _selector(release))


def _selector(release: Key) -> dict[str, str]:
    return {"owner": "helm", "name": release[1]}


def maybe_fail(fail: Mapping[str, Exception], what: str) -> None:
    if what in fail:
        raise fail[what]
