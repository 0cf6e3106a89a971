"""Logs of containers as a stream of lines; for `stackwright logs`.

lightkube's own `log` does not support `previous`, so the request is built here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import ApiError
from lightkube.resources.core_v1 import PodLog

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.kubernetes.login import explained
from stackwright.core.errors import TransientError


@dataclass(frozen=True)
class Container:
    namespace: str
    pod: str
    name: str


@dataclass(frozen=True)
class LogRange:
    """Part of a log: the last `tail` lines or `since` seconds (None for all), or the log of the previous container."""

    tail: int | None = None
    since: int | None = None
    previous: bool = False


class LogReader:
    """Reads logs over the connection of a cluster, so that the user logs in only once."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self._client: Any = cluster._client  # its methods have no types

    async def lines(self, of: Container, part: LogRange, *, follow: bool) -> AsyncIterator[str]:
        """Lines without line ends. Raises TransientError if the log does not exist or the stream breaks."""
        params = {"container": of.name, "tailLines": part.tail, "sinceSeconds": part.since, "follow": follow}
        request = self._client.prepare_request(
            "get", PodLog, name=of.pod, namespace=of.namespace, params={**params, "previous": part.previous}
        )
        if follow:
            request.timeout = httpx2.Timeout(10, read=None)
        try:
            built = self._client.build_adapter_request(request)
            with explained(f"{of.pod}/{of.name}", self._client.config):
                response = await self._client.send(built, stream=True)
            try:
                if response.is_error:
                    await response.aread()
                self._client.raise_for_status(response)
                async for line in response.aiter_lines():
                    yield line
            finally:
                await response.aclose()
        except (ApiError, httpx2.HTTPError, RuntimeError) as error:
            raise TransientError(f"{of.pod}/{of.name}: the log ended: {error}") from error
