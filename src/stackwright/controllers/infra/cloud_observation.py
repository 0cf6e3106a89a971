"""Observations of an object with resources in an OpenStack, and conditions for errors of the cloud. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from stackwright.api.meta import Kind
from stackwright.controllers.infra.origin import guard, identity, is_guarded
from stackwright.core.conditions import Condition, blocked, waiting
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, ProjectView
from stackwright.core.plan import Finalizer, Object

AUTHENTICATION, CLOUD = "OpenStackAuthenticationSucceeded", "CloudReachable"
LOGIN = (
    Reason.AUTHENTICATION_FAILED,
    Reason.CREDENTIALS_MISSING,
    Reason.CREDENTIALS_INVALID,
    Reason.IDENTITY_NOT_FOUND,
    Reason.IDENTITY_ACCESS_DENIED,
    Reason.OTHER_PROJECT,
)


@dataclass(frozen=True)
class CloudObservation:
    """paused   cause of the pause; empty if the object is not paused
    origin   where the object was first observed; see the module `origin`
    moved    UID of an object that comes from another cluster or from a backup; empty for others
    cloud    None while the credentials are not known
    failure  why the request to the cloud failed; `view` is None then
    sure     whether more than one response proves the failure
    after    seconds until the next attempt, if the cloud specifies them
    """

    obj: Object
    now: float
    spec: Mapping[str, Any]
    errors: tuple[str, ...] = ()
    paused: str = ""
    origin: str = ""
    moved: str = ""
    cloud: CloudRef | None = None
    failure: Condition | None = None
    sure: bool = True
    view: ProjectView | None = None
    after: float | None = None

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def identity(self) -> str:
        """The identity with which the resources of this object are marked."""
        return identity(self.obj, self.origin) if self.origin else str(self.obj["metadata"]["uid"])

    @property
    def begun(self) -> bool:
        """Whether resources may have been created for it already, by an earlier process or in another cluster."""
        return bool(self.moved) or has_finalizer(self.obj)

    def guarded(self, kind: Kind) -> Finalizer:
        return guard(kind, self.obj, self.origin)

    @property
    def is_guarded(self) -> bool:
        return is_guarded(self.obj, self.origin)

    @property
    def needs_cloud(self) -> bool:
        """Whether a reconcile of this object needs requests to its cloud."""
        if self.paused or not self.spec.get("identityRef"):
            return False
        if is_deleting(self.obj):
            return has_finalizer(self.obj) and self.spec.get("credentialsLostPolicy") != "Orphan"
        return not self.errors


S = TypeVar("S", bound=CloudObservation)


def with_view(seen: S, view: ProjectView, record: Mapping[Any, Any]) -> S:
    """Add the view of the project. Raises TerminalCloudError if the resources of the record are in another one.

    In another project or region all recorded resources would seem deleted; they would be created again or left behind.
    """
    was = str(seen.status.get("project") or "")
    if record and was and view.place and (there := _elsewhere(was, view, record)):
        text = f"spec.identityRef selects project {view.place}, but the resources of this object are in {there}"
        raise TerminalCloudError(Reason.OTHER_PROJECT, text)
    return replace(seen, view=view)


def _elsewhere(was: str, view: ProjectView, record: Mapping[Any, Any]) -> str:
    """Where the resources are and what to do, if they are not in the project and region of the view; otherwise empty.

    Without a region, credentials select any region of the catalog, so a recorded region must be named. A record without
    a region is in the named one unless none of its resources is there.
    """
    (project, _, region), (same, _, now) = was.partition("@"), view.place.partition("@")
    if project != same:
        return f"project {was}: set credentials of that project"
    if region != now and (region or (view.certain and not _contains(view, record))):
        return f"{'' if region else 'another region of '}project {was}: set credentials of that project and region"
    return ""


def _contains(view: ProjectView, record: Mapping[Any, Any]) -> bool:
    return any(view.get(key, id_) for key, id_ in record.items())


def project(seen: CloudObservation, record: Mapping[Any, Any]) -> str:
    """The project that contains, or will contain, the resources; for the status.

    A region that is named later is recorded when one of the resources is found there.
    """
    was, view = str(seen.status.get("project") or ""), seen.view
    if view is None or not view.place or (record and was and not _contains(view, record)):
        return was
    return view.place


def with_error(seen: S, error: TransientCloudError | TerminalCloudError) -> S:
    """Add the error of the cloud, as a waiting or blocked condition."""
    stage = AUTHENTICATION if error.cause in LOGIN else CLOUD
    if isinstance(error, TransientCloudError):
        return replace(seen, failure=waiting(stage, str(error), error.reason), sure=error.sure, after=error.after)
    return replace(seen, failure=blocked(stage, error.reason, str(error)), sure=error.sure)
