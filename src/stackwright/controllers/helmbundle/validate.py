"""Validates the releases of a HelmBundle. Pure.

Helm runs with the operator's permissions, so a free choice of chart or namespace would give these permissions to every
user with permission to create HelmBundles. Only shipped charts are allowed, in the namespace of the object; privileged
charts only in HelmBundles that a service object created. The operator's chart may set `helmbundles.unrestricted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import bounded, messages
from stackwright.api.services.helmbundle import HelmBundleSpec
from stackwright.api.wording import choices
from stackwright.core.plan import Object
from stackwright.core.settings import Settings

PERMIT = "others require helmbundles.unrestricted in the operator's values"


def errors_of(obj: Object, settings: Settings | None) -> list[str]:
    """All errors. Without `settings` the shipped charts are unknown, so only the fields are checked.

    Admission does not check the operator's own requests. No other client may set privileged values, not even in the
    HelmBundle of a service object.
    """
    spec = obj.get("spec")
    try:
        HelmBundleSpec.model_validate({} if spec is None else spec)
    except ValidationError as error:
        return messages(error, HelmBundleSpec)
    if settings is None:
        return []
    own = str(obj["metadata"].get("namespace") or "")
    return bounded(
        f"spec.releases[{index}].{problem}"
        for index, release in enumerate((spec or {})["releases"])
        for problem in problems(settings, own, release, made=False)
    )


def problems(settings: Settings, own: str, release: Mapping[str, Any], made: bool) -> list[str]:
    """Errors if a HelmBundle in the namespace `own` must not have this release.

    made  whether a service object created the HelmBundle
    """
    found = []
    if not settings.unrestricted and release["chart"] not in settings.charts:
        found.append(f"chart: is not a shipped chart; {choices(release['chart'], sorted(settings.charts))}; {PERMIT}")
    if not permitted(settings, own, str(release.get("namespace") or own)):
        found.append(f"namespace: allowed: {own}, that of this object; {PERMIT}")
    if settings.unrestricted or made:
        return found
    if release["chart"] in settings.privileged:
        rights = "it has permissions on nodes or in Kubernetes"
        found.append(f"chart: {rights}, so only a service object may install it; {PERMIT}")
    if _security_context(release.get("values")):
        found.append(
            "values.pod.security_context: it can give permissions on nodes, so only a service object may set it; "
            f"{PERMIT}"
        )
    return found


def _security_context(values: Any) -> bool:
    pod = values.get("pod") if isinstance(values, Mapping) else None
    return isinstance(pod, Mapping) and bool(pod.get("security_context"))


def permitted(settings: Settings, own: str, namespace: str) -> bool:
    return settings.unrestricted or namespace == own
