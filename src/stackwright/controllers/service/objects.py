"""The objects of a service: its contracts and its HelmBundle with the final values. Pure."""

from __future__ import annotations

from typing import Any

from stackwright.api.helmbundle import HelmBundle
from stackwright.controllers.service.observe import Observed, secret_name
from stackwright.core.digest import digest
from stackwright.core.merge import MergeConflict, merge
from stackwright.core.objects import DIGEST, annotation, owned
from stackwright.core.plan import CopySecret, EnsureSecret, Object
from stackwright.core.sensitive import cut
from stackwright.services.declaration import Chart, Context, Contract, Secret


def contract_object(seen: Observed, context: Context, contract: Contract) -> Object:
    return owned(contract.kind, (context.namespace, context.name), seen.obj, contract.spec)


def generated_secret(seen: Observed, context: Context, secret: Secret) -> EnsureSecret:
    return EnsureSecret((context.namespace, secret.name), seen.obj, secret.generated, secret.fixed, secret.templates)


def sensitive_secret(seen: Observed, context: Context, chart: str) -> CopySecret:
    """Its digest changes with what is asked for and with each change of a Secret that it is taken from."""
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
    """The HelmBundle of the service. Raises MergeConflict with the level that is to blame."""
    releases = [
        {"name": chart.release, "chart": chart.name, "values": chart_values(seen, context, chart)}
        for chart in seen.declared.charts
    ]
    name = f"openstack-{context.name}"
    return owned(HelmBundle.KIND, (context.namespace, name), seen.obj, {"releases": releases})


def chart_values(seen: Observed, context: Context, chart: Chart) -> dict[str, Any]:
    """Base values, then each level of overrides; sensitive options are cut out and named by their Secret."""
    values = merge(chart.values(context))
    for override in context.spec.overrides:
        clean, _ = cut(override.values.get(chart.name, {}), seen.declared.conf_files.get(chart.name))
        try:
            values = merge(values, clean)
        except MergeConflict as conflict:
            raise ValueError(f"{override.source}, chart {chart.name}: {conflict}") from None
    if chart.name in seen.sensitive:
        secret = seen.secrets.get(secret_name(chart.name))
        carried = {"name": secret_name(chart.name), "digest": annotation(secret, DIGEST)}
        values = merge(values, {"secrets": {"conf": {seen.declared.conf_files[chart.name]: carried}}})
    return values


def _version(secret: Object | None) -> str:
    return str((secret or {}).get("metadata", {}).get("resourceVersion", ""))


def sources_of(seen: Observed, chart: str) -> list[str]:
    return sorted({name for options in seen.sensitive[chart].values() for name, _ in options.values()})
