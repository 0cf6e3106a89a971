"""Check of a release's records before Helm acts on them.

Helm trusts its records: it deletes, patches and creates the objects in them, in any namespace that these name, and runs
their hooks, all with the operator's rights. But every user who may write Secrets in a namespace can forge a record. So
Helm is started only if each object is of a kind in shipped charts and in the release's own namespace; shipped charts
have no hooks.
"""

from __future__ import annotations

import asyncio

from stackwright.api.kinds import INGRESS_CLASS, SECRET
from stackwright.core.errors import TerminalError
from stackwright.core.helm.manifests import KINDS, OF_CLUSTER, Unreadable, document_headers, kind_of
from stackwright.core.helm.records import PAYLOAD, SELECTOR, manifest_digest, record_name, record_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader


async def check_records(reader: Reader, release: Key, revision: int = 0, manifest: str | None = None) -> None:
    """Raise TerminalError unless all records of a release hold only objects that may belong to it.

    reader    without a cache, since it must read the same records as Helm
    revision  target of a rollback, if any; Helm finds it by the name of its Secret, and the other ones by labels
    manifest  digest that the target must have
    """
    namespace, name = release
    secrets = await reader.list(SECRET, namespace, {**SELECTOR, "name": name})
    if revision and (target := await reader.get(SECRET, (namespace, record_name(name, revision)))):
        if manifest is not None and manifest != await asyncio.to_thread(manifest_digest, target):
            raise TerminalError(
                f"Secret {namespace}/{target['metadata']['name']}, a record of release {name}, is not what Helm "
                f"installed as revision {revision}, so it is not rolled back to; find out who wrote that Secret"
            )
        secrets = [*secrets, target]
    for secret in secrets:
        try:
            classes = await asyncio.to_thread(_classes, secret, release)
            for each in classes:
                await _check_class(reader, release, each)
        except Unreadable as error:
            record = f"Secret {namespace}/{secret['metadata']['name']}"
            raise TerminalError(
                f"{record}, a record of release {name}, {error}, so Helm would change objects of other releases; "
                "find out who wrote that Secret, and delete it"
            ) from None


def _classes(secret: Object, release: Key) -> frozenset[str]:
    """Names of the IngressClasses in a record. Raises Unreadable for any object that is not of the release."""
    namespace, name = release
    record = record_of((secret.get("data") or {}).get(PAYLOAD))
    if record.get("hooks"):
        raise Unreadable("has hooks")
    if (record.get("namespace"), record.get("name")) != (namespace, name):
        raise Unreadable("belongs to another release")
    found = set()
    for head in document_headers(record.get("manifest") or ""):
        kind = kind_of(head)
        if kind in KINDS and head.get("metadata.namespace", namespace) == namespace:
            continue
        if kind != OF_CLUSTER or not head.get("metadata.name"):
            raise Unreadable("contains an object of another namespace, or of a kind that no shipped chart creates")
        found.add(head["metadata.name"])
    return frozenset(found)


async def _check_class(reader: Reader, release: Key, name: str) -> None:
    """Raise Unreadable unless the IngressClass is absent or has Helm's annotations of this release.

    A user with rights in one namespace cannot annotate a cluster-scoped object.
    """
    found = await reader.get(INGRESS_CLASS, ("", name))
    marks = (found or {"metadata": {}})["metadata"].get("annotations") or {}
    if found and (marks.get("meta.helm.sh/release-namespace"), marks.get("meta.helm.sh/release-name")) != release:
        raise Unreadable("contains an IngressClass of another release")
