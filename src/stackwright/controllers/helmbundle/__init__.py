"""Installs the Helm releases of a HelmBundle, and writes status.children of the OpenStackDeployment."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.api.kinds import JOB, NODE, POD, SECRET, WORKLOADS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.helmbundle import children
from stackwright.controllers.helmbundle.claims import claims, release_key, statuses_of
from stackwright.controllers.helmbundle.decide import decide
from stackwright.controllers.helmbundle.observe import INSTANCE, observe
from stackwright.core.ages import Ages
from stackwright.core.controller import Controller, Lookup, Watch, all_in_namespace
from stackwright.core.kubernetes import precache
from stackwright.core.kubernetes.nodes import is_up
from stackwright.core.objects import key_of, label
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.settings import Settings


def _by_release(obj: Object, lookup: Lookup) -> Iterable[Key]:
    """HelmBundles that contain the release of an object, by the instance label or the name in Helm's record.

    The image DaemonSet concerns all HelmBundles of its namespace.
    """
    if label(obj, "application") == precache.NAME:
        return [key_of(bundle) for bundle in lookup(HelmBundle.KIND, obj["metadata"].get("namespace", ""))]
    release = label(obj, INSTANCE) or (label(obj, "name") if label(obj, "owner") == "helm" else "")
    if not release:
        return []
    key = (obj["metadata"].get("namespace", ""), release)
    return [
        key_of(bundle)
        for bundle in lookup(HelmBundle.KIND, "")
        if any(release_key(bundle, each) == key for each in bundle["spec"]["releases"])
    ]


def _by_node(obj: Object, lookup: Lookup) -> Iterable[Key]:
    """HelmBundles that a node concerns: all if it is unavailable, else those that record it. Nodes change often."""
    bundles = lookup(HelmBundle.KIND, "")
    if not is_up(obj):
        return [key_of(bundle) for bundle in bundles]
    name = obj["metadata"]["name"]
    return [
        key_of(bundle)
        for bundle in bundles
        if any(name in (status.get("away") or ()) for status in statuses_of(bundle).values())
    ]


def _rivals(settings: Settings, obj: Object, lookup: Lookup) -> Iterable[Key]:
    """Other HelmBundles that claim a release of the changed one: if that is deleted, the next one takes over."""
    mine, me = claims(settings, obj), key_of(obj)
    others = [other for other in lookup(HelmBundle.KIND, "") if key_of(other) != me]
    return [key_of(other) for other in others if mine & claims(settings, other)]


def controllers(settings: Settings, ages: Ages, direct: Reader | None = None) -> tuple[Controller, ...]:
    kinds = (*WORKLOADS, JOB, POD, SECRET)
    releases = Controller(
        "helmbundle",
        "helmbundle",
        HelmBundle.KIND,
        (
            *(Watch(kind, _by_release) for kind in kinds),
            Watch(HelmBundle.KIND, partial(_rivals, settings)),
            Watch(NODE, _by_node),
        ),
        partial(observe, settings, ages, direct=direct),
        decide,
        pause=STACKWRIGHT,
        helm=True,
    )
    upward = Controller(
        "children",
        "helmbundle",
        OpenStackDeployment.KIND,
        (Watch(HelmBundle.KIND, all_in_namespace(OpenStackDeployment.KIND)),),
        children.observe,
        children.decide,
        owns_ready=False,
    )
    return (releases, upward)
