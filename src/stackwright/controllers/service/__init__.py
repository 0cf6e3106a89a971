"""One controller for all service kinds; everything specific to a service is in its declaration."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.api.kinds import CONFIGMAP, NODE, POD, PVC, SECRET, STORAGE_CLASS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.registry import CONTRACT_KINDS
from stackwright.controllers.service.decide import decide
from stackwright.controllers.service.observe import has_claims, has_inventory, observe, serving_components
from stackwright.core.controller import ByOwner, Controller, Keys, Lookup, Watch, all_in_namespace
from stackwright.core.objects import OWNER, key_of, label, owner_label
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Key, Object
from stackwright.core.settings import Settings
from stackwright.services.context import CLOUD_AUTHORITY
from stackwright.services.declaration import Service
from stackwright.services.registry import SERVICES


def _by_chart(declared: Service) -> Keys:
    """Maps a pod of a service to the service objects in its namespace."""
    charts = {chart.name for chart in declared.charts}
    every = all_in_namespace(declared.kind)
    return lambda obj, lookup: every(obj, lookup) if label(obj, "application") in charts else ()


def _by_application(declared: Service) -> Keys:
    """Maps a pod of a component that serves to its service object."""
    components = serving_components(declared)

    def keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
        if label(obj, "component") not in components:
            return ()
        every = [key_of(each) for each in lookup(declared.kind, obj["metadata"].get("namespace", ""))]
        return [key for key in every if declared.application(key[1]) == label(obj, "application")]

    return keys


def _by_label(declared: Service) -> Keys:
    """Maps a Secret of a service to its object, also one that is deleted with another object."""
    prefix = f"{declared.kind.kind.lower()}."

    def keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
        owner = label(obj, OWNER)
        if not owner.startswith(prefix):
            return ()
        every = lookup(declared.kind, obj["metadata"].get("namespace", ""))
        return [key_of(each) for each in every if owner_label(each) == owner]

    return keys


def _by_authority(declared: Service) -> Keys:
    """Maps the Secret of the cloud's CA to the service objects that may have certificates from it."""
    every = all_in_namespace(declared.kind)
    return lambda obj, lookup: every(obj, lookup) if obj["metadata"]["name"] == CLOUD_AUTHORITY else ()


def controller(declared: Service, settings: Settings) -> Controller:
    owner = ByOwner(declared.kind.kind)
    providers = {other.resource.KIND for other in SERVICES if other is not declared}
    watches = (
        Watch(HelmBundle.KIND, owner),
        Watch(SECRET, owner),
        Watch(SECRET, _by_label(declared)),
        Watch(SECRET, _by_authority(declared)),
        Watch(NODE, all_in_namespace(declared.kind)),
        *((Watch(CONFIGMAP, all_in_namespace(declared.kind)),) if declared.facts or has_inventory(declared) else ()),
        *(Watch(kind, all_in_namespace(declared.kind)) for kind in (PVC, STORAGE_CLASS) if has_claims(declared)),
        *((Watch(POD, _by_chart(declared)),) if declared.pod_conditions or declared.agents else ()),
        *((Watch(POD, _by_application(declared)),) if serving_components(declared) else ()),
        *(Watch(resource.KIND, owner) for resource in CONTRACT_KINDS),
        *(
            Watch(kind, all_in_namespace(declared.kind))
            for kind in sorted(providers, key=str)
            if declared.group == "openstack"
        ),
    )
    name, look = declared.kind.kind.lower(), partial(observe, declared, settings)
    return Controller(name, "osdpl", declared.kind, watches, look, decide, pause=STACKWRIGHT)
