"""After an interrupted watch to which the API server responds with 410, missed deletions are detected immediately."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest_asyncio
import yaml

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.kinds import NODE
from stackwright.core.controller import Controller
from stackwright.core.plan import Key, Object, Plan
from stackwright.core.ports import NO_CLOUDS, Ports, Reader, absent
from stackwright.main import _serve
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.cluster.source import KopfSource
from stackwright.runtime.health import Health
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from support.control_plane import control_plane

# The API server watches etcd directly, and compacts it continuously: a resource version is too old within seconds.
FLAGS = ("--watch-cache=false", "--etcd-compaction-interval=1s")
PATIENCE = 60.0  # far below the 600 s of the resync


@dataclass(frozen=True)
class Seen:
    obj: Object


class Proxy:
    """A proxy between the watches and the API server, by which a test ends their connections."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._open |= {writer, back}
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()


@pytest_asyncio.fixture
async def apiserver(tmp_path: Path) -> AsyncIterator[Path]:
    plane = control_plane(tmp_path, *FLAGS)
    path = await asyncio.to_thread(plane.__enter__)
    yield path
    await asyncio.to_thread(plane.__exit__, None, None, None)


def through(proxy: Proxy, kubeconfig: Path) -> str:
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = kubeconfig.with_name("proxied")
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def until(what: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (found := what()) or (asyncio.iscoroutine(found) and not await found):
            await asyncio.sleep(0.1)


async def is_too_old(cluster: KubernetesCluster, version: str) -> bool:
    """Whether the API server responds to a watch from this version with 410."""
    params = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "1"}
    response = await cluster._client._client.get("/api/v1/nodes", params=params)
    return '"code":410' in response.text


async def test_a_deletion_during_an_interruption_of_the_watch_is_detected_after_a_410(
    apiserver: Path, monkeypatch: Any
) -> None:
    cluster = KubernetesCluster.from_file(str(apiserver))
    server = yaml.safe_load(apiserver.read_text())["clusters"][0]["cluster"]["server"]
    proxy = Proxy(urlsplit(server).port or 0)
    await proxy.start()
    looked: list[str] = []

    async def observe(reader: Reader, key: Key, now: float) -> Seen | None:
        obj = await reader.get(NODE, key)
        looked.append(f"{'gone' if obj is None else 'there'} {key[1]}")
        return None if obj is None else Seen(obj)

    store, none = Store(), absent("such system")
    ports = Ports(WriteThrough(store, cluster), none, SystemClock(), SystemEntropy(), clouds=NO_CLOUDS)
    controller = Controller("test", "test", NODE, (), observe, lambda seen: Plan())
    loop = Runtime((controller,), ports, CachedReader(store, cluster), store, KeyedQueue())
    lists: list[set[Key]] = []
    told = loop.on_listed

    async def on_listed(kind: Any, present: set[Key], namespace: str) -> None:
        lists.append(present)
        await told(kind, present, namespace)

    loop.on_listed = on_listed  # type: ignore[method-assign]
    path = through(proxy, apiserver)
    monkeypatch.setitem(os.environ, "KUBECONFIG", path)
    serving = asyncio.create_task(_serve(loop, KopfSource(path), Health()))
    try:
        await until(lambda: len(lists) == 1)
        for name in ("stays", "goes"):
            await cluster.apply(NODE, {"metadata": {"name": name}}, "test")
        await until(lambda: {"there stays", "there goes"} <= set(looked))
        version = (await cluster.get(NODE, ("", "goes")) or {})["metadata"]["resourceVersion"]
        proxy.cut()
        await cluster.delete(NODE, ("", "goes"))
        await until(lambda: is_too_old(cluster, version))
        await proxy.start()
        await until(lambda: "gone goes" in looked)
        assert len(lists) == 2, "it was listed anew, which only a 410 brings about"
        assert loop.store.keys(NODE) == {("", "stays")}
        await cluster.apply(NODE, {"metadata": {"name": "later"}}, "test")
        await until(lambda: "there later" in looked)
        assert not serving.done()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        proxy.cut()
        await cluster.close()
