"""Metrics of the operator: queue depth, duration and outcome of reconciles, API calls, internal errors, actions."""

from __future__ import annotations

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from stackwright.runtime.listener import FEW, Server

REGISTRY = CollectorRegistry()
QUEUE_DEPTH = Gauge("stackwright_queue_depth", "Keys that wait for a worker", registry=REGISTRY)
RECONCILE_SECONDS = Histogram(
    "stackwright_reconcile_seconds",
    "Time of one reconcile",
    ["kind"],
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
    registry=REGISTRY,
)
RECONCILES = Counter(
    "stackwright_reconciles_total", "Reconciles by how they ended", ["kind", "outcome"], registry=REGISTRY
)
API_CALLS = Counter("stackwright_api_calls_total", "Calls to the Kubernetes API", ["verb", "kind"], registry=REGISTRY)
OPENSTACK_CALLS = Counter(
    "stackwright_openstack_calls_total", "Answers of OpenStacks in which objects have something", ["method", "code"],
    registry=REGISTRY,
)  # fmt: skip
FAULTS = Counter("stackwright_faults_total", "Errors of the operator's own code", ["during"], registry=REGISTRY)
ACTIONS = Counter("stackwright_actions_total", "Executed actions", ["verb"], registry=REGISTRY)


async def serve(port: int) -> None:
    """Serve /metrics until cancelled."""

    async def respond(_: web.BaseRequest) -> web.Response:
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})

    await Server(respond, connections=FEW, access_log=None).listen(port, None)
