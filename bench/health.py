"""Seconds from a change of a Pod to the matching `status.health` of its OpenStackDeployment.

How: on the running cluster, a memcached Pod is deleted (its content may be lost at any time; its StatefulSet recreates
it), n times (5). Two delays are measured by polling the API every 30 ms:

  worse   from the response to the delete until health is Unhealthy
  better  from the Pod's Ready condition until health is Ready again

The operator delays neither: the measured path is kubelet → API → watch → reconcile → status.

Sources of error: a cloud that is unhealthy before (refused); a Pod that becomes Ready before the poll reads Unhealthy,
which is possible on a fast machine: that sample is dropped. Polling adds up to 30 ms.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from bench.figure import Figure, Goal
from bench.options import BenchError, Options
from bench.polling import until
from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import api

PAUSE, LIMIT = 0.03, 120.0
CLOUDS = "/apis/lcm.mirantis.com/v1alpha1/openstackdeployments"
CHART = "memcached"


def measure(options: Options) -> Iterator[Figure]:
    client = api.of(LocalCluster.discover())
    if (said := client.unready()) is not None:
        raise BenchError(f"no local cluster answers: {said}; `stackwright up` makes one")
    namespace, name = _cloud(client)
    worse, better = [], []
    for _ in range(options.n or 5):
        down, up = _once(client, namespace, name)
        if down is not None:
            worse.append(down)
            better.append(up)
        time.sleep(2)  # let the rest of the cloud settle
    if not worse:
        raise BenchError("each time the new Pod was Ready before health was seen to be bad")
    yield Figure("Pod deleted → health Unhealthy", "s", worse, Goal(most=2))
    yield Figure("Pod Ready → health Ready", "s", better, Goal(most=2))


def _cloud(client: api.Api) -> tuple[str, str]:
    for cloud in (client.get(CLOUDS) or {}).get("items", []):
        meta = cloud["metadata"]
        if _healthy(cloud):
            return meta["namespace"], meta["name"]
    raise BenchError(f"there is no OpenStackDeployment whose {CHART} is healthy")


def _once(client: api.Api, namespace: str, name: str) -> tuple[float | None, float]:
    path = f"{CLOUDS.removesuffix('/openstackdeployments')}/namespaces/{namespace}/openstackdeployments/{name}"
    pod = _pods(client, namespace)[0]
    old = pod["metadata"]["uid"]
    client.delete(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")
    deleted = time.monotonic()
    noticed: list[float] = []

    def back() -> bool:
        if not noticed and not _healthy(client.get(path)):
            noticed.append(time.monotonic())
        pods = _pods(client, namespace)
        return bool(pods) and all(_ready(pod) and pod["metadata"]["uid"] != old for pod in pods)

    until("the new Pod is Ready", back, LIMIT, PAUSE)
    ready = time.monotonic()
    until("status.health says so", lambda: _healthy(client.get(path)), LIMIT, PAUSE)
    return (noticed[0] - deleted if noticed else None), time.monotonic() - ready


def _healthy(cloud: dict[str, Any] | None) -> bool:
    components = (((cloud or {}).get("status") or {}).get("health") or {}).get(CHART) or {}
    return bool(components) and all(each["status"] == "Ready" for each in components.values())


def _pods(client: api.Api, namespace: str) -> list[dict[str, Any]]:
    found = client.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=application={CHART}") or {}
    return sorted(found.get("items", []), key=lambda pod: str(pod["metadata"]["name"]))


def _ready(pod: dict[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
