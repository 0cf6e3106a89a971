"""The owner of a namespace for an exchange with Ceph.

An external Ceph may serve several clouds, each through its own namespace, because all use the same names of pools,
users and Secrets. The requests in it name the Ceph object that owns it; its keys are only for this object's clients.
"""

from __future__ import annotations

from stackwright.core.objects import OWNER, annotation
from stackwright.core.plan import Key, Object
from stackwright.services.ceph.features import CephSettings
from stackwright.services.ceph.values import REQUESTS


def owns_exchange(settings: CephSettings, requests: Object | None, ceph: Key) -> bool:
    """Whether this Ceph object owns the namespace: it is the object's own namespace, or contains its requests."""
    return settings.trial or annotation(requests, OWNER) == "/".join(ceph)


def ownership_error(settings: CephSettings, requests: Object | None, ceph: Key) -> str:
    """The error, with a remedy, if another Ceph object owns the namespace; otherwise empty. Requests of an earlier
    version have no owner.
    """
    other = annotation(requests, OWNER)
    if not other or owns_exchange(settings, requests, ceph):
        return ""
    return (
        f"ConfigMap {settings.shared_namespace}/{REQUESTS} belongs to Ceph {other}; set another namespace in "
        "features.ceph.shared_namespace, or delete the ConfigMap if that cloud no longer exists"
    )
