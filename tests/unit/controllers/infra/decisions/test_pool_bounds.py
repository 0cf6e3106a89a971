"""A pool whose OpenStack lists more, or other, floating IPs than expected."""

from __future__ import annotations

import time
from typing import Any

from stackwright.controllers.floatingippool.decide import SPARE, decide
from stackwright.controllers.floatingippool.observe import Found, Observed
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.controllers.infra.managed_resources import record_of
from stackwright.controllers.infra.origin import ORIGIN
from stackwright.core.conditions import Condition
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import CloudResource, ProjectView, mark
from stackwright.core.plan import Apply, Object, Plan
from tests.unit.controllers.infra.decisions.strategies import CLOUD, KEY, UID

ORIGINAL = f"uid:{UID}"
POOL: Object = {
    "apiVersion": "x/v1",
    "kind": "OpenStackFloatingIPPool",
    "metadata": {
        "name": KEY[1], "namespace": KEY[0], "uid": UID, "finalizers": [FINALIZER], "annotations": {ORIGIN: ORIGINAL},
    },
}  # fmt: skip


def floating(number: int, address: str = "", **facts: Any) -> CloudResource:
    """With the mark of the pool."""
    address = address or f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    made = mark(UID, ("floating-ip", str(number)))
    return CloudResource("floating-ip", f"id-{number}", mark=made, facts={"floating_ip_address": address, **facts})


def claim(name: str) -> Object:
    meta = {"name": name, "namespace": KEY[0], "uid": f"{name}-uid"}
    return {"apiVersion": CLAIM.api_version, "kind": CLAIM.kind, "metadata": meta, "spec": {}}


def address(name: str, ip: str) -> Object:
    owner = {"uid": f"{name}-uid", "controller": True, "kind": CLAIM.kind, "name": name}
    meta = {"name": name, "namespace": KEY[0], "ownerReferences": [owner]}
    return {"metadata": meta, "spec": {"address": ip}}


def pool(
    *things: CloudResource, claims: tuple[str, ...] = (), served: dict[str, str] | None = None, **spec: Any
) -> Plan:
    """The decision for a pool without a record."""
    addresses = tuple(address(name, ip) for name, ip in (served or {}).items())
    taken = frozenset((served or {}).values())
    return decide(
        Observed(
            POOL, 0.0, {"identityRef": {"name": "clouds"}, **spec}, origin=ORIGINAL, cloud=CLOUD,
            view=ProjectView(things, place="p"), claims=tuple(map(claim, claims)), addresses=addresses, taken=taken,
            found=Found({"id": "net"}, {}),
        )
    )  # fmt: skip


def recorded(plan: Plan) -> set[str]:
    assert plan.status is not None
    return set(record_of(plan.status).values())


def stage(plan: Plan) -> Condition:
    return plan.conditions[-1]


def creations(plan: Plan) -> list[CloudCall]:
    return [each for each in plan.actions if isinstance(each, CloudCall) and each.do == "create"]


def test_with_any_number_of_marked_floating_ips_a_decision_is_fast_and_the_status_small() -> None:
    things = [floating(number) for number in range(10_000)]
    for policy in ("Retain", "Delete"):
        began = time.process_time()
        plan = pool(*things, claims=("a", "b"), reclaimPolicy=policy)
        assert time.process_time() - began < 1
        assert len(recorded(plan)) == SPARE + 2
        assert "9948 more floating IPs have the pool's mark" in stage(plan).message


def test_marked_floating_ips_in_use_are_adopted_first() -> None:
    """As after a restore of a backup."""
    others = [floating(number, port_id="of somebody") for number in range(100)]
    plan = pool(*others, floating(100), floating(101), claims=("a",), served={"a": "10.0.0.101"})
    assert {"id-100", "id-101"} <= recorded(plan)
    assert plan.status is not None and plan.status["claimedIPs"] == ["10.0.0.101"]


def test_no_floating_ip_is_created_while_two_have_one_address() -> None:
    plan = pool(floating(0, "192.0.2.7"), floating(1, "192.0.2.7"), claims=("a", "b"), served={"a": "192.0.2.7"})
    assert not creations(plan)
    assert stage(plan).reason == "BlockedAddressesOfNoUse"
    assert "id-0 and id-1 have the same address, 192.0.2.7" in stage(plan).message


def test_no_floating_ip_is_created_while_many_are_unusable() -> None:
    few = [floating(number, port_id="of somebody") for number in range(SPARE)]
    assert creations(pool(*few, claims=("a",)))
    plan = pool(*few, floating(SPARE, port_id="of somebody"), claims=("a",))
    assert not creations(plan)
    assert stage(plan).reason == "BlockedAddressesOfNoUse"
    assert "All 51 floating IPs of the pool are in use" in stage(plan).message


def test_a_claim_is_served_despite_unusable_addresses() -> None:
    plan = pool(floating(0, "192.0.2.7"), floating(1, "192.0.2.7"), claims=("a",))
    assert [type(each) for each in plan.actions if isinstance(each, Apply)] == [Apply]
    assert stage(plan).status
