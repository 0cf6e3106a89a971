"""Marks that outlive the UID of an object, and that cannot be forged in another namespace or cluster."""

from __future__ import annotations

from typing import Any

from stackwright.api.fields.mark import MARK
from stackwright.controllers.infra.origin import (
    ORIGIN,
    identity,
    inherited,
    is_guarded,
    is_moved,
    is_restored,
    origin_here,
)
from stackwright.core.objects import FINALIZER, OWNER, owner_label
from stackwright.core.openstack.resources import SERVER_KEY, mark


def obj(name: str = "m", namespace: str = "ns", kind: str = "OpenStackServer", **meta: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": "u", **meta}}


def test_the_identity_is_that_of_cluster_namespace_kind_and_name_and_not_of_the_uid() -> None:
    here = origin_here("one", obj())
    known = identity(obj(), here)
    assert identity(obj(uid="another", annotations={ORIGIN: here}), "") == known
    others = (
        identity(obj("n"), here),
        identity(obj(namespace="other"), here),
        identity(obj(kind="OpenStackCluster"), here),
        identity(obj(), origin_here("two", obj())),
        identity(obj(), origin_here("one", obj(namespace="other"))),
        identity(obj(), origin_here("one", obj(uid="later"))),
    )
    assert len({known, *others}) == 7
    assert MARK.fullmatch(mark(known, SERVER_KEY)) and len(mark(known, SERVER_KEY)) <= 60


def test_the_origin_that_is_written_down_counts_in_another_cluster() -> None:
    there = origin_here("one", obj())
    moved = obj(uid="another", annotations={ORIGIN: there})
    assert identity(moved, origin_here("two", moved)) == identity(obj(), there)


def test_a_mark_with_the_uid_of_an_earlier_version_is_kept_while_the_uid_is_unchanged() -> None:
    before = obj(uid="before", finalizers=[FINALIZER])
    there = origin_here("one", before)
    assert identity(before, there) == "before"
    written = obj(uid="before", annotations={ORIGIN: there}, finalizers=[FINALIZER])
    assert identity(written, "") == "before"
    assert inherited(written) == {}, "its server had a UID of its own"
    moved = obj(uid="after", annotations={ORIGIN: there}, finalizers=[FINALIZER])
    assert identity(moved, "") not in ("before", "after")
    assert identity({**moved, "metadata": {**moved["metadata"], "uid": "later"}}, "") == identity(moved, "")


def test_an_origin_with_the_identity_of_another_object_gives_no_access_to_it() -> None:
    for victim in (identity(obj(namespace="victim"), "o"), "uid-of-an-earlier-version"):
        forged = obj(namespace="mine", annotations={ORIGIN: f"uid:{victim}"})
        assert identity(forged, "") not in (victim, "u")


def test_a_forged_origin_gives_no_access_to_another_namespace() -> None:
    victim = origin_here("one", obj(namespace="victim"))
    forged = obj(namespace="mine", annotations={ORIGIN: victim})
    assert identity(forged, "") != identity(obj(namespace="victim"), victim)
    assert identity(forged, "") != identity(obj(namespace="mine"), origin_here("one", obj(namespace="mine")))


def test_an_object_is_moved_if_its_origin_is_neither_it_nor_its_owner_here() -> None:
    machine = {"kind": "OpenStackMachine", "name": "m", "uid": "machine"}
    here, owners = origin_here("one", obj()), origin_here("one", obj(uid="machine"))
    assert not is_moved("one", obj())
    assert not is_moved("one", obj(annotations={ORIGIN: here}))
    assert not is_moved("one", obj(annotations={ORIGIN: owners}, ownerReferences=[machine]))
    assert not is_moved("one", obj(annotations={ORIGIN: "uid:u"}))
    assert is_moved("two", obj(annotations={ORIGIN: here}))
    assert is_moved("one", obj(uid="another", annotations={ORIGIN: here}))
    assert is_moved("one", obj(uid="another", annotations={ORIGIN: "uid:u"}))
    restored = [{**machine, "uid": "restored"}]
    assert is_moved("one", obj(uid="another", annotations={ORIGIN: owners}, ownerReferences=restored))


def test_nothing_is_created_before_finalizer_and_origin() -> None:
    assert not is_guarded(obj(), "o")
    assert not is_guarded(obj(finalizers=[FINALIZER]), "o")
    assert not is_guarded(obj(annotations={ORIGIN: "o"}), "o")
    guarded = obj(finalizers=[FINALIZER], annotations={ORIGIN: "o"})
    assert is_guarded(guarded, "o")
    assert (inherited(guarded), inherited(obj())) == ({ORIGIN: "o"}, {})


def test_a_restored_object_is_identified_by_its_label_and_owner() -> None:
    owner = obj(kind="OpenStackMachine")
    label = {OWNER: owner_label(owner)}
    before = {"kind": "OpenStackMachine", "name": "m", "uid": "before"}
    assert is_restored(obj(labels=label), owner)
    assert is_restored(obj(labels=label, ownerReferences=[before]), owner)
    assert not is_restored(None, owner)
    assert not is_restored(obj(), owner)
    assert not is_restored(obj(labels=label, deletionTimestamp="now"), owner)
    assert not is_restored(obj(labels=label, ownerReferences=[{**before, "name": "n"}]), owner)
