"""Logs of containers as a stream of lines, by lightkube; for `stackwright logs`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
from lightkube import ApiError, AsyncClient, KubeConfig

from stackwright.core.ports import NotYet


@dataclass(frozen=True)
class Container:
    namespace: str
    pod: str
    name: str


class LogReader:
    """`kubeconfig`  path, or None for what the environment gives."""

    def __init__(self, kubeconfig: Path | None) -> None:
        config = KubeConfig.from_file(str(kubeconfig)) if kubeconfig else KubeConfig.from_env()
        self._client = AsyncClient(config=config, trust_env=False)

    async def lines(self, of: Container, *, follow: bool, tail: int | None) -> AsyncIterator[str]:
        """Lines without their ends. Raises NotYet when the stream breaks."""
        try:
            log = self._client.log(
                of.pod, namespace=of.namespace, container=of.name, follow=follow, tail_lines=tail, newlines=False
            )
            async for line in log:
                yield line
        except (ApiError, httpx2.HTTPError, RuntimeError) as error:
            raise NotYet(f"{of.pod}/{of.name}: the log ended: {error}") from error
