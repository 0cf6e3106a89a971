"""Metrics of the operator: queue depth, duration and outcome of reconciles, API calls, internal errors, actions."""

from __future__ import annotations

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from stackwright.api.meta import Kind
from stackwright.runtime.listener import FEW, Server

REGISTRY = CollectorRegistry()
QUEUE_DEPTH = Gauge("stackwright_queue_depth", "Keys in the queue, waiting for a worker", registry=REGISTRY)
RECONCILE_SECONDS = Histogram(
    "stackwright_reconcile_seconds",
    "Duration of a reconcile in seconds",
    ["kind"],
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
    registry=REGISTRY,
)
RECONCILES = Counter(
    "stackwright_reconciles_total", "Number of reconciles by result", ["kind", "outcome"], registry=REGISTRY
)
API_CALLS = Counter(
    "stackwright_api_calls_total", "Number of requests to the Kubernetes API", ["verb", "kind"], registry=REGISTRY
)
OPENSTACK_CALLS = Counter(
    "stackwright_openstack_calls_total", "Number of responses of OpenStacks that objects use", ["method", "code"],
    registry=REGISTRY,
)  # fmt: skip
FAULTS = Counter("stackwright_faults_total", "Number of internal errors of the operator", ["during"], registry=REGISTRY)
ACTIONS = Counter("stackwright_actions_total", "Executed actions", ["verb"], registry=REGISTRY)


def count_call(verb: str, kind: Kind) -> None:
    API_CALLS.labels(verb, kind.kind).inc()


def count_openstack(method: str, code: str) -> None:
    OPENSTACK_CALLS.labels(method, code).inc()


async def serve(port: int) -> None:
    """Serve /metrics until cancelled."""

    async def respond(_: web.BaseRequest) -> web.Response:
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})

    await Server(respond, connections=FEW, access_log=None).listen(port, None)
