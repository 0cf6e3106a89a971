"""What a user must confirm, as texts: the losses of a plan, and the reasons why losses are unknown. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.cloud.registry import CLOUD_KINDS, INFRA_KINDS, SERVICE_KINDS
from stackwright.core.openstack.resource_types import TYPES
from stackwright.forecast.entries import DELETE, FAIL, NOTE, RELEASE, Entry, Failure, Topic

_KINDS = {RELEASE, *(resource.KIND.kind for resource in (*CLOUD_KINDS, *SERVICE_KINDS, *INFRA_KINDS))}
_PRECIOUS = {resource_type for resource_type, facts in TYPES.items() if facts.precious}


def losses(found: Iterable[Entry]) -> list[str]:
    """The releases, clouds, services, servers and resources in an OpenStack that a plan deletes, and what is lost with
    them or by a change. Accounts are not data: a database may remain without its account.
    """
    return [
        entry.what
        for entry in found
        if (entry.does == DELETE and (entry.subject[0] in _KINDS or entry.resource_type in _PRECIOUS))
        or (entry.does == NOTE and entry.verb == Topic.LOST)
    ]


def incomplete(found: Iterable[Entry]) -> list[str]:
    """Places where a plan is incomplete: later steps may lose data."""
    failed = [entry for entry in found if entry.does == FAIL and entry.verb == Failure.STEP]
    return [unknown(entry.what, entry.why) for entry in failed]


def unreachable(found: Iterable[Entry]) -> list[str]:
    """Clouds that cannot be queried: the plan assumes that all recorded resources exist."""
    return [unknown(entry.what) for entry in found if entry.does == NOTE and entry.verb == Topic.UNREACHABLE]


def unknown(*why: str) -> str:
    return f"unknown, because {': '.join(filter(None, why))}"
