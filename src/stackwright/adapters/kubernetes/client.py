"""The Kubernetes API by lightkube: plain dicts in and out, server-side apply, errors of the operator's own classes.

lightkube provides the connection (kubeconfig, TLS, rotated tokens) and the fast JSON codec. Its typed models are not
used: the operator compares and builds dicts, and decoding into dicts is the cheapest way to read. Requests are built
here because apply needs `fieldValidation`, which lightkube's own methods do not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import httpx2
import structlog
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.generic_client import BasicRequest, GenericAsyncClient
from lightkube.types import PatchType

from stackwright.adapters.kubernetes.command import Tell
from stackwright.adapters.kubernetes.discovery import CONFIRM, Discovery
from stackwright.adapters.kubernetes.errors import Call, error_of
from stackwright.adapters.kubernetes.login import explained, kubeconfig, logged_in, of_context
from stackwright.adapters.kubernetes.paths import collection_path, object_path
from stackwright.adapters.kubernetes.responses import asked_for, continues, decoded, items_of, plain
from stackwright.api.kinds import ACCESS_REVIEW, EVENT
from stackwright.api.meta import Kind
from stackwright.core.digest import digest
from stackwright.core.errors import Conflict, NotServed, TerminalError, TransientError
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Fence, Labels, Patch, unfenced
from stackwright.core.prune import without_empties

log = structlog.get_logger(__name__)

PAGE = 500
# For messages: neither path is that of a resource.
DISCOVERY = Kind("", "", "APIGroup", "apis", namespaced=False)
VERSION = Kind("", "", "Version", "version", namespaced=False)
MANAGER = "stackwright"
OnCall = Callable[[str, Kind], None]


class KubernetesCluster:
    """core.ports.Cluster over one API server.

    on_call  called for each request, for metrics
    tell     called with the standard error output of a log-in command, as the command writes it
    fence    called before each write
    confirm  seconds between the two requests that prove that a kind is not served; 0 for one request
    """

    def __init__(
        self,
        config: KubeConfig,
        context: str | None = None,
        on_call: OnCall | None = None,
        tell: Tell | None = None,
        fence: Fence = unfenced,
        confirm: float = CONFIRM,
    ) -> None:
        single = of_context(config, context)
        params = ConnectionParams(timeout=httpx2.Timeout(10, read=60), trust_env=False)
        self._client = logged_in(GenericAsyncClient(params, single), tell)
        self._on_call = on_call or (lambda verb, kind: None)
        self._fence = fence
        self._discovery = Discovery(self._read_discovery, confirm)

    @classmethod
    def from_file(
        cls,
        path: str | None,
        context: str | None = None,
        on_call: OnCall | None = None,
        tell: Tell | None = None,
        fence: Fence = unfenced,
        confirm: float = CONFIRM,
    ) -> KubernetesCluster:
        """A client with the kubeconfig at a path; None means the pod's service account."""
        return cls(kubeconfig(path), context, on_call, tell, fence, confirm)

    async def close(self) -> None:
        await self._client._client.aclose()

    async def get(self, kind: Kind, key: Key) -> Object | None:
        call = Call("get", kind, "/".join(key))
        request = BasicRequest("GET", object_path(call, *key))
        try:
            return asked_for(call, await self._send(call, request))
        except Conflict:  # 404 of the object itself
            return None

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        call = Call("list", kind, namespace)
        url = collection_path(call, namespace)
        params = {"limit": str(PAGE)}
        if labels:
            params["labelSelector"] = str(Labels(labels))
        found: list[Object] = []
        while True:
            page = decoded(call, await self._send(call, BasicRequest("GET", url, params=params)))
            found += items_of(call, page)
            if not (token := continues(call, page)):
                return found
            params["continue"] = token

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        return await self._apply(Call("apply", kind, _name(obj)), obj, manager, "")

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        call = Call("create", kind, _name(obj))
        meta = obj["metadata"]
        url, _, _ = object_path(call, meta.get("namespace", ""), meta["name"]).rpartition("/")
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        params = {"fieldManager": manager, "fieldValidation": "Strict"}
        return plain(await self._send(call, BasicRequest("POST", url, params=params, data=body)))

    async def dry_run(self, kind: Kind, obj: Object, manager: str) -> None:
        """Raise the error that `apply` would raise, without a change."""
        await self._apply(Call("apply", kind, _name(obj)), obj, manager, "", dryRun="All")

    async def version(self) -> str:
        """The version of the API server, such as v1.35.2."""
        call = Call("get", VERSION, "")
        return str(plain(await self._response(call, BasicRequest("GET", "version"))).get("gitVersion", ""))

    async def is_allowed(self, attributes: Mapping[str, str]) -> bool:
        """Whether the user has a right, by the attributes of a resource in a SelfSubjectAccessReview."""
        call = Call("create", ACCESS_REVIEW, "")
        body = {
            "apiVersion": ACCESS_REVIEW.api_version,
            "kind": ACCESS_REVIEW.kind,
            "spec": {"resourceAttributes": dict(attributes)},
        }
        answer = plain(await self._send(call, BasicRequest("POST", collection_path(call, ""), data=body)))
        return (answer.get("status") or {}).get("allowed") is True

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        body = {**obj, "status": without_empties(obj.get("status") or {})}
        if not body["status"]:
            del body["status"]
        return await self._apply(Call("apply status of", kind, _name(obj)), body, manager, "/status")

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        call = Call("patch", kind, "/".join(key))
        params = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
        headers = {"Content-Type": (PatchType.JSON if isinstance(patch, list) else PatchType.MERGE).value}
        request = BasicRequest("PATCH", object_path(call, *key), params=params, data=patch, headers=headers)
        return plain(await self._send(call, request))

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        call = Call("delete", kind, "/".join(key))
        how = {"propagationPolicy": "Background"}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **how, "preconditions": {"uid": uid}} if uid else None
        try:
            await self._send(call, BasicRequest("DELETE", object_path(call, *key), params=how, data=options))
        except Conflict:  # it is deleted already, or another one exists
            if uid and await self.get(kind, key) is not None:
                raise

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        """Equal events of an object are counted in one Event. A failure to write it is only logged."""
        event = _event(obj, reason, message, warning)
        meta = event["metadata"]
        try:
            await self._record(event, (meta["namespace"], meta["name"]))
        except (TerminalError, TransientError, Conflict) as error:
            log.warning("event not recorded", reason=reason, error=str(error))

    async def _record(self, event: Object, key: Key) -> None:
        call = Call("create", EVENT, "/".join(key))
        request = BasicRequest("POST", collection_path(call, key[0]), params={"fieldManager": MANAGER}, data=event)
        try:
            await self._send(call, request)
        except Conflict:
            before = await self.get(EVENT, key) or {}
            count = int(before.get("count") or 1) + 1
            await self.patch(EVENT, key, {"count": count, "lastTimestamp": event["lastTimestamp"]})

    async def _apply(self, call: Call, obj: Object, manager: str, subresource: str, **more: str) -> Object:
        meta = obj["metadata"]
        body = {"apiVersion": call.kind.api_version, "kind": call.kind.kind, **obj}
        params = {"fieldManager": manager, "force": "true", "fieldValidation": "Strict", **more}
        url = object_path(call, meta.get("namespace", ""), meta["name"]) + subresource
        headers = {"Content-Type": PatchType.APPLY.value}
        return plain(await self._send(call, BasicRequest("PATCH", url, params=params, data=body, headers=headers)))

    async def _read_discovery(self, path: str) -> Object:
        call = Call("get", DISCOVERY, path)
        return decoded(call, await self._response(call, BasicRequest("GET", path)))

    async def _send(self, call: Call, request: BasicRequest) -> bytes:
        try:
            content = await self._response(call, request)
        except Conflict:  # with the object, not with its kind
            self._discovery.served(call.kind)
            raise
        except NotServed as error:
            raise await self._discovery.verified(call, error) from None
        self._discovery.served(call.kind)
        return content

    async def _response(self, call: Call, request: BasicRequest) -> bytes:
        self._on_call(call.verb, call.kind)
        try:
            built = self._client.build_adapter_request(request)
        except UnicodeEncodeError:
            raise TerminalError(f"{call}: a string in the object is not valid Unicode") from None
        if request.method != "GET":
            self._fence()
        with explained(call, self._client.config):
            response = await self._client._client.send(built)
        if response.status_code >= 400:
            raise error_of(call, response.status_code, response.content)
        return bytes(response.content)


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}".lstrip("/")


def _event(obj: Object, reason: str, message: str, warning: bool) -> Object:
    meta = obj["metadata"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"]}
    about |= {key: meta[key] for key in ("namespace", "uid", "resourceVersion") if meta.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "namespace": meta.get("namespace") or "default",
            "name": f"{meta['name'][:200].rstrip('-.')}.{digest(meta.get('uid'), reason, message, warning)}",
        },
        "involvedObject": about,
        "reason": reason,
        "message": message[:1024],
        "type": "Warning" if warning else "Normal",
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
    }
