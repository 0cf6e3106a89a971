"""Blocks an update that would remove a back end with users' data, unless the user consents to the loss. Pure.

Without its back end, an image or a volume cannot be read, although the service still lists it.
Nothing is changed until the back end is known to be empty or the user has consented.

A replica of an API that has just started may return an empty list with 200. So a back end is empty only after two
successive inventories, CONFIRM seconds apart, found nothing. An inventory may take minutes: its result is valid for a
time from its end. While back ends contain the same, the pauses between inventories grow.
"""

from __future__ import annotations

from stackwright.controllers.service.observe import Observed, serving_components
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.kubernetes.workload_health import pod_ready
from stackwright.core.objects import CLOUD, ORPHAN, label
from stackwright.core.openstack.deployed import inventory
from stackwright.core.openstack.deployed.inventory import CONFIRM
from stackwright.core.plan import Action, Inventory, Object
from stackwright.services.context import Context
from stackwright.services.keystone.values import ADMIN_SECRET

STAGE = "Backends"
LOOK = 30.0  # seconds from an inventory until the next one
RARELY = 10 * LOOK  # longest such time
SHOWN = 5


def backends_in_use(seen: Observed) -> list[str]:
    """Back ends that may hold data of users: those of the status, which names them when the service is ready, and
    those of the HelmBundle, if it was ever ready or a pod serves: some pods serve before all of it is ready.
    """
    used = set((seen.obj.get("status") or {}).get("backends") or ())
    if seen.bundle and (_was_ready(seen.bundle) or any(_serves(seen, pod) for pod in seen.servers)):
        used |= _backends_of(seen, seen.bundle)
    return sorted(used)


def _was_ready(bundle: Object) -> bool:
    statuses = (bundle.get("status") or {}).get("releaseStatuses") or {}
    return any(each.get("readyRevision") for each in statuses.values())


def _serves(seen: Observed, pod: Object) -> bool:
    return label(pod, "component") in serving_components(seen.declared) and pod_ready(pod)


def _backends_of(seen: Observed, bundle: Object) -> set[str]:
    """Back ends in the values of a HelmBundle, also those of overrides."""
    first = seen.declared.charts[0].name
    releases = (each for each in bundle["spec"]["releases"] if each["chart"] == first)
    return {name for each in releases for name in seen.declared.deployed_backends(each.get("values") or {})}


def removed_backends(seen: Observed, context: Context, desired: Object | None) -> tuple[list[Action], Condition | None]:
    """The inventory action for back ends that an update removes, and the stage; None if it removes none.

    desired  the HelmBundle of the update; None while its values cannot be built, and nothing is updated
    """
    if seen.declared.backends is None or desired is None:
        return [], None
    used = backends_in_use(seen)
    wanted = {*seen.declared.backends(context.settings), *_backends_of(seen, desired)}
    gone = tuple(name for name in used if name not in wanted and name not in context.spec.orphan)
    if not gone:
        return [], None
    held, (made, same) = inventory.holdings(seen.inventory), inventory.times(seen.inventory)
    full = {name: things for name, things in held.items() if things}
    confirmed = same >= CONFIRM
    lasts = inventory.period(same, LOOK, RARELY) if full else LOOK if confirmed else CONFIRM
    look: list[Action] = []
    if set(held) != set(gone) or not 0 <= seen.now - made < lasts:  # the age is negative if the clock was ahead
        key = (context.namespace, inventory.name_of(context.name))
        look.append(Inventory(key, seen.obj, seen.declared.service, gone, (context.namespace, ADMIN_SECRET)))
    if set(held) != set(gone):
        what = f"{seen.declared.kind.kind} {', '.join(gone)}"
        return look, waiting(STAGE, f"Listing the content of {what}", "Applying")
    if full:
        return look, blocked(STAGE, "WouldOrphan", _text(seen, context, full))
    if look or not confirmed:  # an outdated or single result removes no back end
        return look, waiting(STAGE, "Listing the content again", "Applying")
    return look, done(STAGE)


def _text(seen: Observed, context: Context, full: dict[str, list[str]]) -> str:
    parts = [f"{name} contains {_some(things)}" for name, things in full.items()]
    allowed = ",".join(f"{context.name}/{name}" for name in full)
    cloud = label(seen.obj, CLOUD)
    how = (
        f"annotate OpenStackDeployment {context.namespace}/{cloud} with {ORPHAN}={allowed}"
        if cloud
        else f"name it in spec.orphan of {seen.declared.kind.kind} {context.namespace}/{context.name}"
    )
    return (
        f"{'; '.join(parts)}, which would become inaccessible. Keep the back end, move or delete its content, or {how}"
    )


def _some(things: list[str]) -> str:
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return f"{len(things)} ({', '.join(sorted(things)[:SHOWN])}{more})"
