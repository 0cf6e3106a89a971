"""Decides which HelmBundle owns a release, and whether a service object created a HelmBundle. Pure.

Several HelmBundles may name the same release. Its owner is the HelmBundle in Helm's record. Without a record, it is the
oldest of those whose status lists a revision of the release, or else the oldest of all.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.controllers.helmbundle.validate import permitted
from stackwright.core.helm.records import bundle_label
from stackwright.core.objects import controller_of, is_deleting, key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Release
from stackwright.core.settings import Settings
from stackwright.services.declaration import Service, bundle_name


def release_key(obj: Object, release: Object) -> Key:
    """Namespace and name of a release of a HelmBundle."""
    return release.get("namespace") or obj["metadata"]["namespace"], release["name"]


def claims(settings: Settings, obj: Object) -> frozenset[Key]:
    """Releases that a HelmBundle names or named earlier, in namespaces that it may use."""
    own = obj["metadata"]["namespace"]
    named = frozenset(release_key(obj, each) for each in obj["spec"]["releases"]) | recorded_releases(obj)
    return frozenset(key for key in named if permitted(settings, own, key[0]))


def releases_to_uninstall(settings: Settings, obj: Object) -> frozenset[Key]:
    """Releases of a HelmBundle to uninstall: all if it is being deleted, else those that its spec no longer names."""
    kept = () if is_deleting(obj) else obj["spec"]["releases"]
    return claims(settings, obj) - {release_key(obj, each) for each in kept}


def installed_by(obj: Object, record: Release) -> bool:
    """Whether this HelmBundle installed a release, by Helm's record, or found it ready as a former HelmBundle left it.

    Earlier versions recorded only the digest, which no release has that a user installed.
    """
    if record.bundle == bundle_label(key_of(obj)):
        return True
    took_over = bool((statuses_of(obj).get(record.name) or {}).get("readyRevision"))
    return bool(record.digest) and (took_over or not record.bundle)


def recorded_releases(obj: Object) -> frozenset[Key]:
    """Releases that the status of a HelmBundle lists."""
    return frozenset(
        (str(status.get("namespace") or obj["metadata"]["namespace"]), name)
        for name, status in statuses_of(obj).items()
    )


def release_owner(key: Key, record: Release | None, claimants: Iterable[Object]) -> Key:
    """The HelmBundle that owns a release; `claimants` must not be empty."""
    found = sorted(claimants, key=lambda obj: _order(obj, key))
    named = [obj for obj in found if record and record.bundle == bundle_label(key_of(obj))]
    return key_of((named or found)[0])


def has_created(declared: Service, owner: Object | None, obj: Object) -> bool:
    """Whether this service object created this HelmBundle; owner references alone are no proof."""
    if owner is None or owner["metadata"].get("uid") != controller_of(obj).get("uid"):
        return False
    name = owner["metadata"]["name"]
    wanted = {(each["name"], each["chart"]) for each in obj["spec"]["releases"] if not each.get("namespace")}
    return (
        obj["metadata"]["name"] == bundle_name(name)
        and len(wanted) == len(obj["spec"]["releases"])
        and wanted <= declared.releases(name)
    )


def _order(obj: Object, key: Key) -> tuple[bool, str, str]:
    had = key in recorded_releases(obj) and bool(statuses_of(obj)[key[1]].get("revision"))
    return not had, str(obj["metadata"].get("creationTimestamp", "")), str(obj["metadata"].get("uid", ""))


def statuses_of(obj: Object) -> Object:
    """Name of a release → its status as written last, in any namespace."""
    return (obj.get("status") or {}).get("releaseStatuses") or {}
