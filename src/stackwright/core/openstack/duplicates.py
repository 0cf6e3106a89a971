"""Resources with the same mark: which of them are duplicates, and which must be kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import ANSWERED, CREATED, CloudResource

TWICE = 300.0  # seconds; maximum difference of the creation times of a resource and its duplicate


def is_kept(thing: CloudResource, ours: CloudResource | None) -> bool:
    """Whether a resource with the mark of our recorded one is kept, because it may not be a duplicate.

    A volume is kept if it may be a copy by another client, any other resource if it may be the original.
    """
    return (_is_copy if TYPES[thing.type].copied else _is_original)(thing, ours)


def _is_original(thing: CloudResource, ours: CloudResource | None) -> bool:
    """Whether a resource may be the original, and the recorded one a second one that a restored object created.

    A repeated create request leaves a resource that is not in use, and that was created within TWICE seconds of the
    recorded one. If it is unknown whether it is in use, the older one may be.
    """
    if ours is None or _is_used(thing) or _made_apart(thing, ours):
        return True
    used = TYPES[thing.type].used
    return not (used and thing.facts.keys() >= set(used)) and thing.facts[CREATED] < ours.facts[CREATED]


def _is_used(thing: CloudResource) -> bool:
    return any(thing.facts.get(field) for field in TYPES[thing.type].used)


def _is_copy(volume: CloudResource, ours: CloudResource | None) -> bool:
    """Whether a volume may be a copy by another client: a copy may include the metadata with our mark.

    If the metadata of a volume contains its own id, a copy contains that id too and is treated as unmarked. A duplicate
    of such a volume has no id in its metadata, was created within TWICE seconds of it and is unattached. If it is
    unclear who owns a volume, it is treated as a copy and kept.
    """
    if ours is None or not ours.facts.get(ANSWERED) or volume.facts.get(ANSWERED) or _is_used(volume):
        return True
    return _made_apart(volume, ours)


def _made_apart(one: CloudResource, other: CloudResource) -> bool:
    """Whether the creation times are unknown or too different for one create request and its repetition."""
    made, known = one.facts.get(CREATED), other.facts.get(CREATED)
    return made is None or known is None or abs(made - known) > TWICE


def is_ambiguous(found: Sequence[CloudResource]) -> bool:
    """Whether exactly one of these volumes with one mark is ours but unknown; sorted as by `ProjectView.marked`."""
    return len(found) > 1 and TYPES[found[0].type].copied and not found[0].facts.get(ANSWERED)
