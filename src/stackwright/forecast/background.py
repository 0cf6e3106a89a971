"""The cluster's state with which the steps of a forecast are compared: releases, failures, overrides and Secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.registry import BY_KIND
from stackwright.controllers.helmbundle.step import release_digest
from stackwright.core.conditions import condition_type, find, is_blocked
from stackwright.core.helm.records import SELECTOR, releases
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object
from stackwright.core.settings import Settings
from stackwright.forecast.simulate import Forecast


@dataclass(frozen=True)
class Deployed:
    """A release in the cluster. `known` is False if the HelmBundle's values differ from the deployed ones."""

    chart: str
    values: Mapping[str, Any]
    known: bool = True


@dataclass
class Background:
    """The state with which the steps are compared.

    releases  releases in the cluster
    failures  release → its last error, or empty
    services  HelmBundle → the service object's overrides, before and after
    secrets   existing Secrets
    """

    releases: dict[Key, Deployed] = field(default_factory=dict)
    failures: dict[Key, str] = field(default_factory=dict)
    services: dict[Key, tuple[Sequence[Object], Sequence[Object]]] = field(default_factory=dict)
    secrets: set[Key] = field(default_factory=set)


async def background(result: Forecast, settings: Settings, namespace: str) -> Background:
    base, found = result.base, Background()
    records = releases(await base.list(SECRET, namespace, SELECTOR))
    found.secrets = {key_of(secret) for secret in await base.list(SECRET, namespace)}
    for bundle in await base.list(HelmBundle.KIND, namespace):
        for wanted in bundle["spec"]["releases"]:
            if record := records.get(wanted["name"]):
                known = record.state == "deployed" and _as_deployed(settings, bundle, wanted, record.digest)
                deployed = Deployed(wanted["chart"], wanted.get("values") or {}, known)
                found.releases[namespace, wanted["name"]] = deployed
            found.failures[namespace, wanted["name"]] = _failure(bundle, wanted["name"])
    for bundle in await result.world.list(HelmBundle.KIND, namespace):
        for ref in bundle["metadata"].get("ownerReferences") or ():
            if ref["kind"] in BY_KIND:
                kind, key = BY_KIND[ref["kind"]].KIND, (namespace, ref["name"])
                levels = [_overrides(await reader.get(kind, key)) for reader in (base, result.world)]
                found.services[key_of(bundle)] = (levels[0], levels[1])
    return found


def _failure(bundle: Any, release: str) -> str:
    """The error of a release, if a user must act; otherwise empty."""
    own, ready = find(bundle, condition_type(release)) or {}, find(bundle) or {}
    current = ready.get("observedGeneration") == bundle["metadata"].get("generation")
    blocked = [entry for entry in (own, ready) if is_blocked(entry)]
    return str(blocked[0].get("message", "")) if blocked and current and own.get("status") != "True" else ""


def _as_deployed(settings: Settings, bundle: Any, wanted: Any, digest: str) -> bool:
    """Whether the release has the present values of its HelmBundle: by digest, or by the operator's status."""
    status = bundle.get("status") or {}
    said = (status.get("releaseStatuses") or {}).get(wanted["name"]) or {}
    current = status.get("observedGeneration") == bundle["metadata"].get("generation")
    return release_digest(settings, wanted) == digest or bool(current and said.get("success"))


def _overrides(service: Any) -> Any:
    return ((service or {}).get("spec") or {}).get("overrides") or ()
