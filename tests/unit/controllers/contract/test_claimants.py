"""The index of accounts always agrees with a search through all objects."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.controllers.claimants import Claimants, order
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.controllers.contract.objects import Contract, claims, uses
from stackwright.controllers.contract.observe import observe
from stackwright.core.objects import key_of
from stackwright.core.plan import Object
from stackwright.core.ports import UNCHECKED
from tests.unit.controllers.builders import NAMESPACE, obj

NAMES = st.sampled_from("abcd")
FEW = st.sampled_from(["x", "y", "z"])


class Cluster:
    """All objects, by key; counts the lists."""

    def __init__(self) -> None:
        self.objects: dict[Any, Object] = {}
        self.lists = 0

    async def get(self, kind: Any, key: Any) -> Object | None:
        return self.objects.get(key)

    async def list(self, kind: Any, namespace: str = "", labels: Any = None) -> list[Object]:
        self.lists += 1
        return [each for key, each in self.objects.items() if key[0] == namespace]


def claimants_of(contract: Contract) -> Claimants:
    return Claimants(contract.kind, partial(claims, contract), partial(uses, contract))


def database(user: str, secret: str, databases: list[str], instance: str) -> dict[str, Any]:
    further = {"database": databases[0], "additionalDatabases": databases[1:]}
    return {"instance": instance, "username": user, "secretName": secret, **further}


def messaging(user: str, secret: str, databases: list[str], instance: str) -> dict[str, Any]:
    return {"instance": instance, "username": user, "secretName": secret, "vhost": databases[0]}


SPECS = {DATABASE.name: database, MESSAGING.name: messaging}
CHANGES = st.tuples(
    st.sampled_from(["put", "put", "put", "remove", "remove unseen", "look"]),
    st.sampled_from([NAMESPACE, "elsewhere"]),
    NAMES,
    st.tuples(FEW, FEW, st.lists(FEW, min_size=1, max_size=2), st.sampled_from(["p", "q"])),
    st.sampled_from(["1", "2", "3"]),
    st.booleans(),
)


def by_a_look_at_all(contract: Contract, every: list[Object], mine: Object) -> set[Any]:
    deleting = bool(mine["metadata"].get("deletionTimestamp"))
    found = set()
    for each in every:
        same = claims(contract, mine) & claims(contract, each)
        shared = uses(contract, mine) & uses(contract, each) if deleting else set()
        if each is not mine and each["metadata"]["namespace"] == mine["metadata"]["namespace"] and same | shared:
            found.add(key_of(each))
    return found


@given(st.sampled_from([DATABASE, MESSAGING]), st.lists(CHANGES, max_size=25))
async def test_the_index_equals_a_search_in_all_objects(contract: Contract, changes: list[Any]) -> None:
    cluster, claimants = Cluster(), claimants_of(contract)
    every = cluster.objects

    def lookup(kind: Any, space: str) -> list[Object]:
        return [each for key, each in every.items() if key[0] == space]

    for what, namespace, name, spec, created, deleting in changes:
        key = (namespace, name)
        before = every.get(key)
        if what == "put":
            stamp = before["metadata"]["creationTimestamp"] if before else created
            made = obj(contract.kind, name, SPECS[contract.name](*spec), deleting=deleting, creationTimestamp=stamp)
            made["metadata"]["namespace"] = namespace
            every[key] = made
            told = set(claimants.waiting(made, lookup))
            had = claims(contract, made) | (claims(contract, before) if before else set())
            assert told == {
                k
                for k, o in every.items()
                if k[0] == namespace and order(o) > order(made) and had & claims(contract, o)
            }
        elif what == "remove" and before:
            del every[key]
            claimants.waiting(before, lookup)
            claimants.forget(key)
        elif what == "remove unseen":
            every.pop(key, None)
        for mine in list(every.values()):
            others = await claimants.others(cluster, mine)
            assert {key_of(each) for each in others} == by_a_look_at_all(contract, list(every.values()), mine)
            assert all(each is every[key_of(each)] for each in others), "as they are now"


async def test_all_objects_are_listed_once_for_any_number_of_reconciles() -> None:
    """At 5,000 accounts a list for each would be 25 million looks."""
    cluster, claimants = Cluster(), claimants_of(DATABASE)
    for index in range(300):
        made = obj(DATABASE.kind, f"a{index}", database(f"u{index}", f"s{index}", [f"d{index}"], "p"))
        cluster.objects[key_of(made)] = made
    for each in cluster.objects.values():
        assert await claimants.others(cluster, each) == ()
    assert cluster.lists == 1


async def test_the_claims_of_an_object_are_computed_once_per_spec() -> None:
    """Each start reports, lists and observes all accounts."""
    asked: list[Any] = []

    def counted(spec: Any) -> tuple[str, ...]:
        asked.append(spec["username"])
        return tuple(DATABASE.claims(spec))

    cluster, claimants = Cluster(), claimants_of(replace(DATABASE, claims=counted))
    for index in range(30):
        made = obj(DATABASE.kind, f"a{index}", database(f"u{index}", f"s{index}", [f"d{index}"], "p"))
        cluster.objects[key_of(made)] = made
        assert claimants.waiting(made, lambda kind, space: []) == []
    for each in cluster.objects.values():
        assert await claimants.others(cluster, each) == ()
    assert len(asked) == 30
    changed = {**made, "spec": {**made["spec"], "username": "u0"}}
    assert [key_of(each) for each in await claimants.others(cluster, changed)] == [(NAMESPACE, "a0")]
    assert asked[30:] == ["u0"]


async def test_a_spec_is_validated_once_per_reconcile(monkeypatch: pytest.MonkeyPatch) -> None:
    validated: list[Any] = []
    works = DATABASE.spec.model_validate

    def counted(spec: Any) -> Any:
        validated.append(spec)
        return works(spec)

    monkeypatch.setattr(DATABASE.spec, "model_validate", counted)
    cluster = Cluster()
    made = obj(DATABASE.kind, "a", database("u", "s", ["d"], "p"))
    cluster.objects[key_of(made)] = made
    seen = await observe(DATABASE, UNCHECKED, claimants_of(DATABASE), cluster, key_of(made), 0.0)
    assert seen is not None and decide(seen).actions
    assert len(validated) == 1
