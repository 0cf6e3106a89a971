"""Builds the objects of a service: its contracts, Secrets, and the HelmBundle with the final values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.api.services.helmbundle import LONGEST_START, TIMEOUT, HelmBundle
from stackwright.controllers.service.observe import Observed, secret_name
from stackwright.core.digest import digest
from stackwright.core.helm.merge import merge
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.objects import CLOUD, DIGEST, annotation, belongs, label, owned
from stackwright.core.plan import Object
from stackwright.core.secrets.fernet import ROTATED
from stackwright.core.secrets.writes import (
    CopySecret,
    EnsureCertificate,
    EnsureSecret,
    GatherSecret,
    RotateKeys,
    SecretOwner,
)
from stackwright.services.context import CLOUD_AUTHORITY, Context
from stackwright.services.declaration import Certificate, Chart, Contract, Keys, Secret, bundle_name
from stackwright.services.values import merged_values

SLOWEST = 10_000_000  # bytes per second of a state transfer


def contract_object(seen: Observed, context: Context, contract: Contract) -> Object:
    return owned(contract.kind, (context.namespace, contract.name or context.name), seen.obj, contract.spec)


def _owner(seen: Observed, wanted: Secret | Keys) -> SecretOwner | None:
    """None while the object with which the Secret is deleted does not exist."""
    if wanted.owner is None:
        return SecretOwner(seen.obj)
    found = seen.owners.get(wanted.name)
    return None if found is None else SecretOwner(seen.obj, found)


def generated_secret(seen: Observed, context: Context, secret: Secret) -> EnsureSecret | None:
    """None while its owner does not exist."""
    if (owner := _owner(seen, secret)) is None:
        return None
    return EnsureSecret(
        (context.namespace, secret.name),
        owner,
        secret.generated,
        secret.fixed,
        secret.templates,
        keypairs=secret.keypairs,
        given=secret.given,
    )


def rotated_keys(seen: Observed, context: Context, keys: Keys) -> tuple[RotateKeys | None, float]:
    """The rotation of a key repository if it is due, and the seconds until the next one. None while its owner does not
    exist.
    """
    if (owner := _owner(seen, keys)) is None:
        return None, keys.every
    repository = seen.secrets.get(keys.name)
    turned = annotation(repository, ROTATED)
    rotated = turned if belongs(repository, owner.uid) else ""
    left = float(rotated) + keys.every - seen.now if rotated.isdecimal() else 0.0
    if 0 < left <= 2 * keys.every:  # it is later if the clock was ahead
        return None, left
    return RotateKeys((context.namespace, keys.name), owner, keys.max_active, turned), keys.every


def certificate_secret(seen: Observed, context: Context, wanted: Certificate) -> EnsureCertificate | GatherSecret:
    """The action for a certificate: copy the user's certificate, or issue one with our CA."""
    key, owner = (context.namespace, wanted.name), seen.obj["metadata"]["uid"]
    if wanted.source:
        versions = {name: _version(seen.secrets.get(name)) for name, _ in wanted.source.values()}
        return GatherSecret(key, seen.obj, wanted.source, digest(dict(wanted.source), versions, owner))
    particular = [each for each in (wanted.subject, wanted.server_only) if each]  # if empty, not reissued
    made = digest(wanted.names, wanted.addresses, owner, *particular)
    authority = (context.namespace, CLOUD_AUTHORITY)
    return EnsureCertificate(
        key, authority, seen.obj, wanted.names, wanted.addresses, made, wanted.subject, wanted.server_only
    )


def sensitive_secret(seen: Observed, context: Context, chart: str) -> CopySecret:
    """The copy of a chart's sensitive options. Its digest changes with the options and with each change of their
    Secrets.
    """
    versions = {name: _version(seen.secrets.get(name)) for name in sources_of(seen, chart)}
    key = (context.namespace, secret_name(chart))
    return CopySecret(
        key,
        seen.obj,
        "overrides.conf",
        seen.sensitive[chart],
        digest(seen.sensitive[chart], versions, seen.obj["metadata"]["uid"]),
    )


def bundle(seen: Observed, context: Context) -> Object:
    """The HelmBundle of the service. Raises OverrideError, which names the conflicting level."""
    releases = [_release(seen, context, chart) for chart in seen.declared.charts if chart.wanted(context.settings)]
    cloud = label(seen.obj, CLOUD)  # services of a cloud wait for its image pre-caching
    labels = {CLOUD: cloud} if cloud else {}
    return owned(
        HelmBundle.KIND, (context.namespace, bundle_name(context.name)), seen.obj, {"releases": releases}, labels
    )


def _release(seen: Observed, context: Context, chart: Chart) -> Object:
    """The release, with the digest of its chart: a new version of the chart must not get values of the previous one."""
    digests = seen.settings.charts
    made_for = {"chartDigest": digests[chart.name]} if chart.name in digests else {}
    values = chart_values(seen, context, chart)
    start = {"startTimeout": _start_timeout(values)} if chart.receives else {}
    return {"name": chart.release(context.name), "chart": chart.name, **made_for, "values": values, **start}


def _start_timeout(values: Mapping[str, Any]) -> int:
    """Start timeout (seconds) of a server that receives as much data as its volume can contain."""
    try:
        size = amount(str(values["volume"]["size"]))
    except (KeyError, TypeError, ValueError):  # an override may have any type; the chart's schema rejects it
        return 0
    return min(TIMEOUT + int(size / SLOWEST), LONGEST_START)


def chart_values(seen: Observed, context: Context, chart: Chart) -> dict[str, Any]:
    """Base values merged with each override level; sensitive options are replaced by a reference to their Secret."""
    values = merged_values(seen.declared, context, chart)
    if chart.name in seen.sensitive:
        secret = seen.secrets.get(secret_name(chart.name))
        carried = {"name": secret_name(chart.name), "digest": annotation(secret, DIGEST)}
        values = merge(values, {"secrets": {"conf": {seen.declared.conf_files[chart.name]: carried}}})
    return values


def _version(secret: Object | None) -> str:
    return str((secret or {}).get("metadata", {}).get("resourceVersion", ""))


def sources_of(seen: Observed, chart: str) -> list[str]:
    return sorted({name for options in seen.sensitive[chart].values() for name, _ in options.values()})
