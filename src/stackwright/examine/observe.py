"""Reads the objects that the checks need. An object that cannot be read is None: its check reports this, and the other
checks continue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stackwright.adapters.kubernetes.errors import MissingRight
from stackwright.api.kinds import (
    CONFIGMAP,
    CRD,
    DEPLOYMENT,
    INGRESS_CLASS,
    MUTATING_WEBHOOK,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    STORAGE_CLASS,
    VALIDATING_WEBHOOK,
)
from stackwright.api.meta import Kind
from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES
from stackwright.core.errors import Conflict, NotServed, TerminalError, TransientError, Unavailable
from stackwright.core.objects import mapping
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.settings import OPERATOR_NAMESPACE, OPERATOR_RELEASE
from stackwright.examine.rights import EVERYTHING, Right

SYSTEM = "kube-system"
DNS = {"k8s-app": "kube-dns"}  # the label of the Service of every cluster DNS, also of CoreDNS
LISTED = (NODE, POD, STORAGE_CLASS, INGRESS_CLASS, VALIDATING_WEBHOOK, MUTATING_WEBHOOK, NAMESPACE, SERVICE)
AT_ONCE = 10  # requests
ADMINISTRATOR = "Use a cluster administrator."
MANAGER = "stackwright-doctor"
# An API server without image volumes removes the unknown source of the volume, and rejects a volume without a source.
IMAGE_VOLUME: Object = {
    "metadata": {"name": "stackwright-doctor", "namespace": "default"},
    "spec": {
        "containers": [{"name": "none", "image": "none"}],
        "volumes": [{"name": "image", "image": {"reference": "none"}}],
    },
}


class Examined(Reader, Protocol):
    """A cluster under examination; nothing is written."""

    async def version(self) -> str: ...

    async def is_allowed(self, attributes: Mapping[str, str]) -> bool: ...

    async def dry_run(self, kind: Kind, obj: Object, manager: str) -> None: ...


@dataclass(frozen=True)
class Observed:
    """version        version of the API server
    image_volumes  why the API server rejects image volumes; empty: it accepts them; None: unknown
    lacking        rights that the user lacks; None: unknown
    lists          kind → all its objects; None: they are not known
    refused        kind → why they are not known, if that is not a right that the user lacks
    kinds          our kinds of which the cluster has a CRD: name of the CRD → CRD
    clouds         OpenStackDeployments and OpenStackControlPlanes of all namespaces
    operator       the Deployment of the operator; None: it does not exist, or is hidden
    hidden         why the Deployment of the operator is not known; empty: it is
    corefile       the configuration of the cluster's DNS; empty: unknown
    """

    version: str = ""
    image_volumes: str | None = None
    lacking: Sequence[Right] | None = ()
    lists: Mapping[Kind, Sequence[Object] | None] = field(default_factory=dict)
    refused: Mapping[Kind, str] = field(default_factory=dict)
    kinds: Mapping[str, Object] = field(default_factory=dict)
    clouds: Sequence[Object] = ()
    operator: Object | None = None
    hidden: str = ""
    corefile: str = ""

    def all(self, kind: Kind) -> Sequence[Object]:
        """The objects of a kind; none if they are not known."""
        return self.lists.get(kind) or ()

    def knows(self, kind: Kind) -> bool:
        return self.lists.get(kind) is not None

    def unknown(self, kind: Kind, objects: str) -> tuple[str, str]:
        """Why the objects of a kind, as `objects` names them, are not known, and the remedy."""
        if error := self.refused.get(kind):
            return f"The API server does not list {objects}: {error}.", "Repeat the command after that was corrected."
        return f"This user may not list {objects}.", ADMINISTRATOR


async def observe(cluster: Examined, rights: Iterable[Right]) -> Observed:
    """Raises TransientError if the API does not respond."""
    version = await cluster.version()
    slots, refused = asyncio.Semaphore(AT_ONCE), dict[Kind, str]()
    ours = sorted({(resource.KIND.plural, resource.KIND.group) for resource in RESOURCES})

    async def listed(kind: Kind) -> list[Object] | None:
        async with slots:
            try:
                return await cluster.list(kind)
            except NotServed:
                return []
            except Unavailable:
                raise
            except MissingRight:
                pass
            except (TerminalError, TransientError) as error:
                refused[kind] = str(error)
            return None

    async def read(kind: Kind, key: Key) -> Object | None:
        async with slots:
            return (await _read(cluster, kind, key))[0]

    lists = await asyncio.gather(*(listed(kind) for kind in LISTED))
    crds = await asyncio.gather(*(read(CRD, ("", f"{plural}.{group}")) for plural, group in ours))
    clouds = await asyncio.gather(*(listed(resource.KIND) for resource in CLOUD_KINDS))
    corefile = await read(CONFIGMAP, (SYSTEM, "coredns"))
    known = dict(zip(LISTED, lists, strict=True))
    place = operator_namespace(known[VALIDATING_WEBHOOK] or ())
    operator, hidden = await _read(cluster, DEPLOYMENT, (place, OPERATOR_RELEASE))
    return Observed(
        version=version,
        image_volumes=await _image_volumes(cluster),
        lacking=await _lacking(cluster, rights, slots),
        lists=known,
        refused=refused,
        kinds={crd["metadata"]["name"]: crd for crd in crds if crd},
        clouds=[
            {**obj, "kind": resource.KIND.kind}
            for resource, found in zip(CLOUD_KINDS, clouds, strict=True)
            for obj in found or ()
        ],
        operator=operator,
        hidden=hidden,
        corefile=str(((corefile or {}).get("data") or {}).get("Corefile") or ""),
    )


def operator_namespace(webhooks: Iterable[Object]) -> str:
    """The namespace of the Service that the operator's webhook names; without one, the usual namespace."""
    for each in webhooks:
        if each["metadata"]["name"] == OPERATOR_RELEASE:
            for webhook in each.get("webhooks") or ():
                if name := mapping(mapping(webhook.get("clientConfig")).get("service")).get("namespace"):
                    return str(name)
    return OPERATOR_NAMESPACE


async def _read(cluster: Examined, kind: Kind, key: Key) -> tuple[Object | None, str]:
    """An object, and why it is not known; None without a reason: it does not exist."""
    try:
        return await cluster.get(kind, key), ""
    except Unavailable:
        raise
    except (TerminalError, TransientError) as error:
        return None, str(error)


async def _image_volumes(cluster: Examined) -> str | None:
    try:
        await cluster.dry_run(POD, IMAGE_VOLUME, MANAGER)
    except (TerminalError, TransientError, Conflict) as error:
        return str(error) if "volumes[0]" in str(error) else None
    return ""


async def _lacking(cluster: Examined, rights: Iterable[Right], slots: asyncio.Semaphore) -> list[Right] | None:
    """The rights that the user lacks. For an administrator, one request is enough."""

    async def held(asked: Collection[Right]) -> set[Right]:
        async def holds(right: Right) -> bool:
            async with slots:
                return await cluster.is_allowed(right.attributes)

        answers = await asyncio.gather(*map(holds, asked))
        return {right for right, answer in zip(asked, answers, strict=True) if answer}

    try:
        if await held([EVERYTHING]):
            return []
        asked = list(rights)
        there = await held(asked)
        lacking = [right for right in asked if right not in there]
        there = await held({other for right in lacking for other in right.instead})
    except Unavailable:
        raise
    except (TerminalError, TransientError):
        return None
    return [right for right in lacking if not right.instead or not there.issuperset(right.instead)]
