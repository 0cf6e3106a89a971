"""Logs by HTTP: requests, responses, and errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.kubernetes.logs import Container, LogRange, LogReader
from stackwright.core.errors import TransientError
from tests.unit.adapters.kubernetes.test_login import configured

POD = Container("n", "p", "c")


@asynccontextmanager
async def answering(folder: Path, answer: bytes, seen: list[str]) -> AsyncIterator[LogReader]:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).decode().split(" ")[1])
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    path = configured(folder, {"token": "t"})
    path.write_text(path.read_text().replace("127.0.0.1:1", f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    cluster = KubernetesCluster.from_file(str(path))
    try:
        yield LogReader(cluster)
    finally:
        await cluster.close()
        server.close()


@pytest.mark.parametrize("follow", [False, True])
async def test_lines_have_no_line_ends(tmp_path: Path, follow: bool) -> None:
    seen: list[str] = []
    async with answering(tmp_path, b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\na\nb \xff", seen) as reader:
        found = [line async for line in reader.lines(POD, LogRange(tail=5, since=60, previous=True), follow=follow)]
    assert found == ["a", "b \ufffd"]
    for each in ("/api/v1/namespaces/n/pods/p/log?", "container=c", "tailLines=5", "sinceSeconds=60", "previous=true"):
        assert each in seen[0]


async def test_a_missing_log_is_reported_in_the_words_of_kubernetes(tmp_path: Path) -> None:
    body = json.dumps({"kind": "Status", "message": "previous terminated container not found", "code": 400}).encode()
    head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    async with answering(tmp_path, head.encode() + body, []) as reader:
        with pytest.raises(TransientError, match="p/c: the log ended: previous terminated container not found"):
            [line async for line in reader.lines(POD, LogRange(), follow=False)]


async def test_an_interrupted_log_is_reported_after_its_text(tmp_path: Path) -> None:
    async with answering(tmp_path, b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\na\nb", []) as reader:
        lines = reader.lines(POD, LogRange(), follow=False)
        assert await anext(lines) == "a"
        with pytest.raises(TransientError, match="p/c: the log ended: "):
            await anext(lines)
