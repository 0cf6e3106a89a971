"""What a HelmBundle may ask for. Pure.

Helm runs with the operator's rights, so a free choice of chart or namespace would give these rights to everyone that
may create HelmBundles. Only shipped charts are allowed, in the namespace of the object; those with rights only
in HelmBundles that a service object makes. The operator's chart may set `helmbundles.unrestricted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import messages
from stackwright.api.services.helmbundle import HelmBundleSpec
from stackwright.core.plan import Object
from stackwright.core.settings import Settings

PERMIT = "the operator permits others only with helmbundles.unrestricted"


def errors_of(obj: Object, settings: Settings | None, old: Object | None = None) -> list[str]:
    """All errors. Without `settings` nobody knows which charts are shipped, so only the fields are checked.

    Admission does not ask for what the operator writes. Nobody else may ask for rights on nodes, not even in the
    HelmBundle of a service object; a spec that stays as it is asks for nothing.
    """
    spec = obj.get("spec")
    try:
        HelmBundleSpec.model_validate({} if spec is None else spec)
    except ValidationError as error:
        return messages(error, HelmBundleSpec)
    if settings is None:
        return []
    own = str(obj["metadata"].get("namespace") or "")
    return [
        f"spec.releases[{index}].{problem}"
        for index, release in enumerate((spec or {})["releases"])
        for problem in problems(settings, own, release, old is not None and old.get("spec") == spec)
    ]


def problems(settings: Settings, own: str, release: Mapping[str, Any], made: bool) -> list[str]:
    """Why this release is not permitted to a HelmBundle of the namespace `own`; empty if it is.

    made  whether a service object makes the HelmBundle
    """
    found = []
    if not settings.unrestricted and release["chart"] not in settings.charts:
        found.append(f"chart: is not a shipped chart; allowed: {', '.join(sorted(settings.charts))}; {PERMIT}")
    if not permitted(settings, own, str(release.get("namespace") or own)):
        found.append(f"namespace: allowed: {own}, that of this object; {PERMIT}")
    if settings.unrestricted or made:
        return found
    if release["chart"] in settings.privileged:
        rights = "has rights on nodes or in Kubernetes"
        found.append(f"chart: {rights}, so only a service object may have it installed; {PERMIT}")
    if _security_context(release.get("values")):
        found.append(
            f"values.pod.security_context: only a service object may set it, for it may give rights on nodes; {PERMIT}"
        )
    return found


def _security_context(values: Any) -> bool:
    pod = values.get("pod") if isinstance(values, Mapping) else None
    return isinstance(pod, Mapping) and bool(pod.get("security_context"))


def permitted(settings: Settings, own: str, namespace: str) -> bool:
    return settings.unrestricted or namespace == own
