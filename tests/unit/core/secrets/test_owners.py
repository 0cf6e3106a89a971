"""A Secret with an owner is written for no other object: users choose the names of Secrets."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.core.digest import digest
from stackwright.core.errors import TerminalError
from stackwright.core.objects import MANAGED, OWNER, annotation, owner_label, owner_reference, owners
from stackwright.core.plan import Object
from stackwright.core.ports import Ports
from stackwright.core.secrets.fernet import ROTATED
from stackwright.core.secrets.writes import (
    CephAccess,
    CopySecret,
    EnsureCertificate,
    EnsureSecret,
    ExtractSecret,
    GatherSecret,
    KeepRevision,
    RotateKeys,
    SecretOwner,
    SecretWrite,
)
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.services.ingress.features import key_of
from support.ports import memory_ports

KEY = ("n", "keystone-admin")
AUTHORITY = ("n", "openstack-ca")
TEXT = {"k": "dmFsdWU="}
CEPH = {"mon_endpoints": "MTkyLjAuMi4xOjY3ODk=", "c": "Y2xpZW50LmM7QT09O2E6dm9sdW1lczpoZGQ="}
CLIENT: Object = {"client": "c", "pools": [{"name": "v", "role": "volumes"}], "options": {}}
ACTIONS: dict[str, Callable[[Object], SecretWrite]] = {
    "ensure": lambda owner: EnsureSecret(KEY, SecretOwner(owner), fixed={"username": "evil"}),
    "rotate": lambda owner: RotateKeys(KEY, SecretOwner(owner)),
    "copy": lambda owner: CopySecret(KEY, owner, "x.conf", {"a": {"b": ("mine", "k")}}),
    "gather": lambda owner: GatherSecret(KEY, owner, {"k": ("mine", "k")}),
    "gather for nobody": lambda owner: GatherSecret(KEY, None, {"k": ("mine", "k")}),
    "certificate": lambda owner: EnsureCertificate(KEY, AUTHORITY, owner, ("a.example",), (), "d"),
    "authority": lambda owner: EnsureCertificate(("n", "tls"), KEY, owner, ("a.example",), (), "d"),
    "ceph": lambda owner: CephAccess(KEY, owner, ("n", "ceph"), CLIENT, "", "d"),
    "extract": lambda owner: ExtractSecret(KEY, CONFIGMAP, owner, {key_of("text", "t"): ("text",)}),
    "revision": lambda owner: KeepRevision(KEY, owner, 1, digest(owner["spec"])),
}
NOBODYS = ("gather for nobody", "authority")


@pytest.fixture
def ports() -> Any:
    clock = FrozenClock(1000.0)
    cluster = MemoryCluster(clock=clock)
    for name, data in {"mine": TEXT, "ceph": CEPH}.items():
        cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": data})
    return memory_ports(cluster, clock)


def made(ports: Ports, name: str, monkeypatch: pytest.MonkeyPatch) -> Object:
    monkeypatch.setattr("stackwright.runtime.cycle.secrets.kind_of", lambda name: CONFIGMAP)
    obj = {"metadata": {"namespace": "n", "name": name}, "spec": {"text": "t"}}
    return ports.cluster.put(CONFIGMAP, {"apiVersion": "v1", "kind": "ConfigMap", **obj})  # type: ignore[attr-defined]


def there(ports: Any, **meta: Any) -> Object:
    return ports.cluster.put(
        SECRET, {"metadata": {"namespace": "n", "name": KEY[1], **meta}, "data": {"0": "dmFsdWU="}}
    )


def owned_by(other: Object) -> dict[str, Any]:
    return {"labels": {**MANAGED, OWNER: owner_label(other)}, "ownerReferences": [owner_reference(other)]}


WHOSE: dict[str, Callable[[Object], dict[str, Any]]] = {
    "of another object": owned_by,
    "whose label was taken away": lambda other: {"ownerReferences": [owner_reference(other)]},
    "whose reference was taken away": lambda other: {"labels": {OWNER: owner_label(other)}},
}


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("action", ACTIONS)
async def test_the_secret_of_another_owner_is_rejected_by_name_and_unchanged(
    ports: Any, action: str, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = made(ports, "mine", monkeypatch), made(ports, "other", monkeypatch)
    before = copy.deepcopy(there(ports, **WHOSE[whose](other)))
    with pytest.raises(
        TerminalError, match=r"^Secret n/keystone-admin belongs to configmap\.other; choose another name$"
    ):
        await execute([ACTIONS[action](owner)], ports, "m")
    assert ports.cluster.peek(SECRET, KEY) == before


@pytest.mark.parametrize("action", [each for each in ACTIONS if each not in NOBODYS])
async def test_names_of_the_operators_own_secrets_are_rejected_too(
    ports: Any, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example the CA of a cloud, and the credentials of an external gateway of Ceph."""
    before = copy.deepcopy(there(ports, labels=MANAGED))
    with pytest.raises(TerminalError, match=r"^Secret n/keystone-admin belongs to stackwright; "):
        await execute([ACTIONS[action](made(ports, "mine", monkeypatch))], ports, "m")
    assert ports.cluster.peek(SECRET, KEY) == before


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_existing_secret_of_a_user_is_adopted_and_rewritten(
    ports: Any, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(ports, labels={"app.kubernetes.io/managed-by": "Helm"})
    owner = made(ports, "mine", monkeypatch)
    for _ in range(2):
        wanted = ACTIONS[action](owner)
        if isinstance(wanted, RotateKeys):
            wanted = replace(wanted, turned=annotation(ports.cluster.peek(SECRET, KEY), ROTATED))
        await execute([wanted], ports, "m")
    assert owners(ports.cluster.peek(SECRET, KEY)) == {"stackwright" if action in NOBODYS else "configmap.mine"}


@pytest.mark.parametrize("action", [each for each in ACTIONS if each not in NOBODYS])
async def test_leftovers_of_an_earlier_owner_of_the_name_are_overwritten(
    ports: Any, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = made(ports, "mine", monkeypatch)
    there(ports, **owned_by({**owner, "metadata": {**owner["metadata"], "uid": "earlier"}}))
    await execute([ACTIONS[action](owner)], ports, "m")
    references = ports.cluster.peek(SECRET, KEY)["metadata"]["ownerReferences"]
    assert owner["metadata"]["uid"] in {each["uid"] for each in references}


async def test_a_repository_of_another_object_that_is_deleted_with_it_is_taken_over_as_it_is(
    ports: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference of another client could not be removed by an apply, and Kubernetes accepts one controller."""
    owner, longer = made(ports, "mine", monkeypatch), made(ports, "longer", monkeypatch)
    there(ports, **owned_by(owner), annotations={ROTATED: "7"})
    await execute([RotateKeys(KEY, SecretOwner(owner, longer), turned="7")], ports, "m")
    found = ports.cluster.peek(SECRET, KEY)
    assert found["metadata"]["ownerReferences"] == [owner_reference(longer)]
    assert (found["data"], annotation(found, ROTATED)) == ({"0": "dmFsdWU="}, "7")
    assert owners(found) == {"configmap.mine", "configmap.longer"}
    await execute([RotateKeys(KEY, SecretOwner(owner, longer), turned="7")], ports, "m")
    assert sorted(ports.cluster.peek(SECRET, KEY)["data"]) == ["0", "1"]
