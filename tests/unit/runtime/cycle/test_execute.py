"""Actions against the outside world in memory."""

import asyncio
import base64
from dataclasses import replace

import pytest

from stackwright.api.kinds import CONFIGMAP, POD, SECRET
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.helm.records import manifest_digest
from stackwright.core.objects import AUTHORITY as ISSUER
from stackwright.core.objects import DIGEST, EXPIRES, FINALIZER, annotation, secret_data
from stackwright.core.plan import (
    Action,
    Apply,
    Delete,
    Finalizer,
    HelmRollback,
    HelmUninstall,
    HelmUpgrade,
    SetLabel,
    SetStatus,
)
from stackwright.core.plan.accounts import EnsureDatabaseAccount
from stackwright.core.secrets.fernet import ROTATED
from stackwright.core.secrets.writes import (
    CopySecret,
    EnsureCertificate,
    EnsureSecret,
    GatherSecret,
    RotateKeys,
    SecretOwner,
)
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from support.ports import memory_ports

KEY = ("n", "x")


@pytest.fixture
def ports():
    clock = FrozenClock(1000.0)
    return memory_ports(MemoryCluster(clock=clock), clock)


@pytest.fixture
def owner(ports):
    return ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "owner"}})


def secret(ports, name="x"):
    return secret_data(ports.cluster.peek(SECRET, ("n", name)))


def put_secret(ports, name, data):
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    ports.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": encoded})


async def test_the_first_action_that_fails_ends_the_execution(ports):
    thing = {"metadata": {"namespace": "n", "name": "x"}}
    with pytest.raises(Conflict):
        await execute([SetLabel(POD, ("n", "gone"), "a", "b"), Apply(CONFIGMAP, thing)], ports, "m")
    assert ports.cluster.peek(CONFIGMAP, KEY) is None


async def test_apply_delete_and_label_have_their_effect(ports):
    await execute([Apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": "x"}, "data": {"a": "b"}})], ports, "m")
    await execute([SetLabel(CONFIGMAP, KEY, "role", "primary")], ports, "m")
    assert ports.cluster.peek(CONFIGMAP, KEY)["metadata"]["labels"] == {"role": "primary"}
    await execute([Delete(CONFIGMAP, KEY), Delete(CONFIGMAP, KEY)], ports, "m")
    assert ports.cluster.peek(CONFIGMAP, KEY) is None


async def test_a_foreign_object_gets_a_status_unless_its_name_is_reused(ports):
    claim = ports.cluster.put(CLAIM, {"metadata": {"name": "x", "namespace": "n"}, "spec": {}})
    tell = SetStatus(CLAIM, claim, {"addressRef": {"name": "x"}})
    assert str(tell) == "tell IPAddressClaim n/x"
    await execute([tell], ports, "me")
    assert ports.cluster.peek(CLAIM, KEY)["status"] == {"addressRef": {"name": "x"}}
    ports.cluster.remove(CLAIM, KEY)
    with pytest.raises(Conflict):
        await execute([tell], ports, "me")


async def test_a_password_is_generated_once_and_derived_values_follow(ports, owner):
    await execute(
        [EnsureSecret(KEY, SecretOwner(owner), fixed={"username": "u"}, templates={"url": "{username}:{password}"})],
        ports,
        "m",
    )
    first = secret(ports)
    assert first["url"] == f"u:{first['password']}"
    assert len(first["password"]) == 32
    await execute(
        [EnsureSecret(KEY, SecretOwner(owner), fixed={"username": "v"}, templates={"url": "{username}={password}"})],
        ports,
        "m",
    )
    assert secret(ports) == {"username": "v", "password": first["password"], "url": f"v={first['password']}"}


async def test_an_existing_password_of_a_user_is_adopted(ports, owner):
    put_secret(ports, "x", {"password": "chosen"})
    await execute([EnsureSecret(KEY, SecretOwner(owner))], ports, "m")
    assert secret(ports)["password"] == "chosen"


async def test_a_password_of_a_user_is_read_once_and_awaited_until_then(ports, owner):
    action = EnsureSecret(
        KEY, SecretOwner(owner), templates={"yaml": "p: {password!j}"}, given={"password": ("mine", "p")}
    )
    with pytest.raises(TransientError, match="key p of Secret n/mine"):
        await execute([action], ports, "m")
    put_secret(ports, "mine", {"p": '1"{x}'})
    await execute([action], ports, "m")
    assert secret(ports) == {"password": '1"{x}', "yaml": 'p: "1\\"{x}"'}
    put_secret(ports, "mine", {"p": "other"})
    await execute([action], ports, "m")
    assert secret(ports)["password"] == '1"{x}'


async def test_a_created_secret_is_watched_and_deleted_with_its_owner(ports, owner):
    await execute([EnsureSecret(KEY, SecretOwner(owner))], ports, "m")
    meta = ports.cluster.peek(SECRET, KEY)["metadata"]
    assert meta["labels"]["app.kubernetes.io/managed-by"] == "stackwright"
    ports.cluster.remove(CONFIGMAP, ("n", "owner"))
    assert ports.cluster.peek(SECRET, KEY) is None


async def test_keys_are_created_and_rotated_and_the_time_of_the_rotation_is_noted(ports, owner):
    await execute([RotateKeys(KEY, SecretOwner(owner), 3)], ports, "m")
    first = secret(ports)
    assert sorted(first) == ["0", "1"]
    ports.clock.forward(50.4)
    await turn(ports, owner)
    assert secret(ports)["2"] == first["0"]
    assert float(turned_at(ports)) >= ports.clock.now(), "never earlier than it was, else keys would turn too soon"
    for _ in range(3):
        await turn(ports, owner)
    assert sorted(secret(ports)) == ["0", "4", "5"]


def turned_at(ports):
    return annotation(ports.cluster.peek(SECRET, KEY), ROTATED)


async def turn(ports, owner):
    ports.clock.forward(1)
    await execute([RotateKeys(KEY, SecretOwner(owner), 3, turned_at(ports))], ports, "m")


@pytest.mark.parametrize("turns", [0, 1, 4])
async def test_a_key_rotation_is_idempotent(ports, owner, turns):
    """The answer of the write was lost, and the watch was away; else the primary would be a key that no pod has yet."""
    for _ in range(turns):
        await turn(ports, owner)
    action = RotateKeys(KEY, SecretOwner(owner), 3, turned_at(ports))
    ports.clock.forward(1)
    await execute([action], ports, "m")
    once = secret(ports)
    with pytest.raises(Conflict) as raised:
        await execute([action], ports, "m")
    assert (raised.value.kind, raised.value.key) == (SECRET, KEY), "it is looked at again"
    assert secret(ports) == once


async def test_concurrent_rotations_rotate_once(ports, owner, monkeypatch):
    await turn(ports, owner)
    action, apply = RotateKeys(KEY, SecretOwner(owner), 3, turned_at(ports)), ports.cluster.apply
    once = {}

    async def after_another(*given):
        monkeypatch.setattr(ports.cluster, "apply", apply)
        await execute([action], ports, "m")
        once.update(secret(ports))
        return await apply(*given)

    ports.clock.forward(1)
    monkeypatch.setattr(ports.cluster, "apply", after_another)
    with pytest.raises(Conflict):
        await execute([action], ports, "m")
    assert secret(ports) == once


async def test_options_are_copied_from_their_secrets_into_one_snippet(ports, owner):
    put_secret(ports, "a", {"k": "one"})
    put_secret(ports, "b", {"k": "two"})
    sections = {"ldap": {"password": ("a", "k"), "user": ("b", "k")}, "DEFAULT": {"token": ("a", "k")}}
    await execute([CopySecret(KEY, owner, "x.conf", sections, "d")], ports, "m")
    assert secret(ports) == {"x.conf": "[DEFAULT]\ntoken = one\n[ldap]\npassword = one\nuser = two\n"}


async def test_a_missing_source_of_an_option_is_named(ports, owner):
    with pytest.raises(TransientError, match="key k of Secret n/a"):
        await execute([CopySecret(KEY, owner, "x.conf", {"s": {"o": ("a", "k")}})], ports, "m")


async def test_a_finalizer_is_added_and_removed_without_changing_others(ports):
    obj = ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "x", "finalizers": ["other/x"]}})
    await execute([Finalizer(CONFIGMAP, obj, True), Finalizer(CONFIGMAP, obj, True)], ports, "m")
    assert ports.cluster.peek(CONFIGMAP, KEY)["metadata"]["finalizers"] == ["other/x", FINALIZER]
    await execute([Finalizer(CONFIGMAP, obj, False)], ports, "m")
    assert ports.cluster.peek(CONFIGMAP, KEY)["metadata"]["finalizers"] == ["other/x"]


async def test_nothing_is_created_for_an_object_deleted_before_its_finalizer(ports):
    obj = ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "x"}})
    ports.cluster.remove(CONFIGMAP, KEY)
    upgrade = HelmUpgrade(("n", "r"), "c", "", {}, "d", obj)
    with pytest.raises(Conflict, match="does not exist"):
        await execute([Finalizer(CONFIGMAP, obj, True), upgrade], ports, "m")
    assert not ports.helm.calls
    ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "x"}})
    with pytest.raises(Conflict, match="does not exist"):
        await execute([Finalizer(CONFIGMAP, obj, True)], ports, "m")
    await execute([Finalizer(CONFIGMAP, obj, False)], ports, "m")


async def test_an_object_that_is_being_deleted_gets_no_finalizer(ports):
    obj = ports.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "x", "finalizers": ["other/x"]}})
    ports.cluster.remove(CONFIGMAP, KEY)
    with pytest.raises(Conflict, match="being deleted"):
        await execute([Finalizer(CONFIGMAP, obj, True)], ports, "m")


async def test_helm_upgrades_run_in_parallel_and_later_actions_wait_for_all(ports, owner, monkeypatch):
    running, most, order = 0, 0, []

    async def upgrade(action):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        order.append(action.release[1])

    async def uninstall(release):
        assert running == 0
        order.append("uninstalled")

    monkeypatch.setattr(ports.helm, "upgrade", upgrade)
    monkeypatch.setattr(ports.helm, "uninstall", uninstall)
    upgrades = [HelmUpgrade(("n", name), "c", "", {}, "d", owner) for name in "abc"]
    await execute([*upgrades, HelmUninstall(("n", "z"))], ports, "m")
    assert most == 3
    assert order == ["a", "b", "c", "uninstalled"]


async def test_a_failed_upgrade_does_not_stop_others_and_is_reported(ports, owner):
    ports.helm.fail["bad"] = TerminalError("broken chart")
    upgrades = [HelmUpgrade(("n", name), name, "", {}, "d", owner) for name in ("bad", "good")]
    with pytest.raises(TerminalError, match="broken chart"):
        await execute(upgrades, ports, "m")
    assert ("upgrade", ("n", "good")) in ports.helm.calls


async def test_a_rollback_restores_the_named_revision(ports, owner):
    for digest in ("one", "two"):
        await execute([HelmUpgrade(("n", "r"), "c", "", {}, digest, owner)], ports, "m")
    (first, _) = ports.helm.records(("n", "r"))
    await execute([HelmRollback(("n", "r"), 1, manifest_digest(first))], ports, "m")
    newest = max(ports.helm.records(("n", "r")), key=lambda s: int(s["metadata"]["labels"]["version"]))
    assert newest["metadata"]["labels"]["stackwright.dev/digest"] == "one"


def account(**more):
    secrets = {"admin_secret": ("n", "admin"), "secret": ("n", "x")}
    return EnsureDatabaseAccount(host="db", database="d", username="u", grants=("ALL",), **secrets, **more)


async def test_an_account_is_created_with_the_password_of_its_secret(ports):
    put_secret(ports, "admin", {"username": "root", "password": "r"})
    put_secret(ports, "x", {"password": "p"})
    await execute([account()], ports, "m")
    assert ports.providers[EnsureDatabaseAccount].users == {("db", "u"): "p"}


@pytest.mark.parametrize("name", ["admin", "x"])
async def test_an_account_whose_password_is_no_text_is_rejected_by_its_secret(ports, name):
    put_secret(ports, "admin", {"username": "root", "password": "r"})
    put_secret(ports, "x", {"password": "p"})
    binary = {"password": base64.b64encode(b"\xff").decode()}
    ports.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": binary})
    with pytest.raises(TerminalError, match=f"field password of Secret n/{name}: must be UTF-8 text"):
        await execute([account()], ports, "m")
    await execute([account(absent=True)] if name == "x" else [], ports, "m")


async def test_an_account_waits_for_its_missing_secrets_by_name(ports):
    with pytest.raises(TransientError, match="Secret n/admin"):
        await execute([account()], ports, "m")
    put_secret(ports, "admin", {"password": "r"})
    with pytest.raises(TransientError, match="Secret n/x"):
        await execute([account()], ports, "m")
    assert not ports.providers[EnsureDatabaseAccount].calls


async def test_an_account_is_deleted_even_without_its_secret(ports):
    put_secret(ports, "admin", {"password": "r"})
    ports.providers[EnsureDatabaseAccount].users["db", "u"] = "p"
    await execute([account(absent=True)], ports, "m")
    assert not ports.providers[EnsureDatabaseAccount].users


async def test_an_unknown_action_is_an_internal_error(ports):
    class Unknown(Action):
        verb = "what"
        target = "is this"

    with pytest.raises(TypeError, match="no executor for what is this"):
        await execute([Unknown()], ports, "m")


async def test_an_ssh_key_pair_is_created_once_and_kept_with_its_password(ports, owner):
    action = EnsureSecret(KEY, SecretOwner(owner), generated=(), keypairs=("ssh",))
    await execute([action], ports, "m")
    first = secret(ports)
    assert sorted(first) == ["ssh", "ssh.pub"]
    assert "OPENSSH PRIVATE KEY" in first["ssh"] and first["ssh.pub"].startswith("ssh-ed25519 ")
    await execute([EnsureSecret(KEY, SecretOwner(owner), keypairs=("ssh",), fixed={"user": "nova"})], ports, "m")
    assert {name: text for name, text in secret(ports).items() if name.startswith("ssh")} == first


async def test_an_incomplete_key_pair_is_recreated(ports, owner):
    put_secret(ports, "x", {"ssh": "lonely"})
    await execute([EnsureSecret(KEY, SecretOwner(owner), generated=(), keypairs=("ssh",))], ports, "m")
    assert secret(ports)["ssh"] != "lonely" and secret(ports)["ssh.pub"]


AUTHORITY = ("n", "ca")
DAY = 24 * 3600.0


def certificate(owner, name="x", digest="d"):
    return EnsureCertificate(("n", name), AUTHORITY, owner, ("*.example",), ("10.0.0.1",), digest)


async def test_a_certificate_includes_its_ca_which_is_created_once_without_an_owner(ports, owner):
    await execute([certificate(owner), certificate(owner, "y")], ports, "m")
    one, other = secret(ports), secret(ports, "y")
    assert sorted(one) == ["ca.crt", "tls.crt", "tls.key"]
    assert one["tls.key"] != other["tls.key"]
    assert one["ca.crt"] == other["ca.crt"] == secret(ports, "ca")["ca.crt"]
    meta, issuer = (ports.cluster.peek(SECRET, key)["metadata"] for key in (KEY, AUTHORITY))
    version = f"{issuer['uid']}-{issuer['resourceVersion']}"
    assert meta["annotations"] == {DIGEST: "d", EXPIRES: str(1000 + 365 * 24 * 3600), ISSUER: version}
    ports.cluster.remove(CONFIGMAP, ("n", "owner"))
    assert ports.cluster.peek(SECRET, KEY) is None
    assert ports.cluster.peek(SECRET, AUTHORITY) is not None


async def test_a_certificate_is_reissued_only_for_a_reason_and_its_ca_is_noted(ports, owner):
    await execute([certificate(owner)], ports, "m")
    first = secret(ports)
    issuer = ports.cluster.peek(SECRET, AUTHORITY)
    ports.cluster.put(SECRET, {**issuer, "metadata": {**issuer["metadata"], "labels": {"backup": "done"}}})
    await execute([certificate(owner)], ports, "m")
    assert secret(ports) == first
    version = ports.cluster.peek(SECRET, AUTHORITY)["metadata"]["resourceVersion"]
    assert version != issuer["metadata"]["resourceVersion"]
    assert ports.cluster.peek(SECRET, KEY)["metadata"]["annotations"][ISSUER].endswith(f"-{version}")
    await execute([certificate(owner, digest="other")], ports, "m")
    second = secret(ports)
    assert second["tls.crt"] != first["tls.crt"] and second["ca.crt"] == first["ca.crt"]
    ports.cluster.remove(SECRET, AUTHORITY)
    await execute([certificate(owner, digest="other")], ports, "m")
    assert secret(ports)["ca.crt"] == secret(ports, "ca")["ca.crt"] != first["ca.crt"]


@pytest.mark.parametrize("days", [0, 3600])
async def test_concurrent_issuers_share_one_ca(ports, owner, days):
    """The first one in a cloud, and the next one when that is old."""

    class Slow:
        """All clients read before any of them writes."""

        def __getattr__(self, name):
            async def call(*given):
                await asyncio.sleep(0.01)
                return await getattr(ports.cluster, name)(*given)

            return call

    if days:
        await execute([certificate(owner)], ports, "m")
        ports.clock.forward(days * DAY)
    slow = replace(ports, cluster=Slow())
    names = ("x", "y", "z")
    await asyncio.gather(*(execute([certificate(owner, name)], slow, f"m-{name}") for name in names))
    assert {secret(ports, name)["ca.crt"] for name in names} == {secret(ports, "ca")["ca.crt"]}


async def test_an_authority_that_changes_again_and_again_is_a_conflict(ports, owner, monkeypatch):
    async def create(kind, obj, manager):
        raise Conflict("there is one", kind, AUTHORITY)

    monkeypatch.setattr(ports.cluster, "create", create)
    with pytest.raises(Conflict):
        await execute([certificate(owner)], ports, "m")


async def test_a_ca_that_would_expire_first_is_recreated(ports, owner):
    await execute([certificate(owner)], ports, "m")
    before = secret(ports)["ca.crt"]
    ports.clock.forward(3000 * DAY)
    await execute([certificate(owner)], ports, "m")
    assert secret(ports)["ca.crt"] == before
    ports.clock.forward(600 * DAY)
    await execute([certificate(owner)], ports, "m")
    assert secret(ports)["ca.crt"] != before
    expires = float(ports.cluster.peek(SECRET, KEY)["metadata"]["annotations"][EXPIRES])
    assert expires == ports.clock.now() + 365 * DAY


@pytest.mark.parametrize(
    ("data", "field", "problem"),
    [
        ({"ca.crt": b"x", "ca.key": b"y"}, "ca.crt", ": Unable to load PEM file"),
        ({"ca.crt": b"\xff", "ca.key": b"y"}, "ca.crt", ": must be UTF-8 text"),
        ({"ca.key": b"y"}, "ca.crt", " is missing"),
        ({"ca.crt": b"", "ca.key": b"\xff"}, "ca.key", ": must be UTF-8 text"),
    ],
)
async def test_an_invalid_foreign_ca_is_rejected_by_name(ports, owner, data, field, problem):
    if data.get("ca.crt") == b"":
        await execute([certificate(owner)], ports, "m")
        data["ca.crt"] = secret(ports, "ca")["ca.crt"].encode()
        ports.cluster.remove(SECRET, KEY)
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    ports.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "ca"}, "data": encoded})
    with pytest.raises(TerminalError) as told:
        await execute([certificate(owner)], ports, "m")
    assert str(told.value).startswith(f"Secret n/ca contains no usable CA: {field}{problem}")
    assert ports.cluster.peek(SECRET, ("n", "ca"))["data"] == encoded


async def test_bytes_that_are_no_text_are_reported_by_secret_and_field(ports, owner):
    binary = {"data": {"password": base64.b64encode(b"\xff").decode()}}
    ports.cluster.put(SECRET, {"metadata": {"namespace": KEY[0], "name": KEY[1]}, **binary})
    with pytest.raises(TerminalError, match=rf"^field password of Secret {'/'.join(KEY)}: must be UTF-8 text$"):
        await execute([EnsureSecret(KEY, SecretOwner(owner), generated=("password",))], ports, "m")


async def test_fields_are_collected_from_users_secrets_and_missing_ones_are_named(ports, owner):
    action = GatherSecret(KEY, owner, {"tls.crt": ("mine", "cert"), "tls.key": ("keys", "key")}, "d")
    put_secret(ports, "mine", {"cert": "CERTIFICATE"})
    with pytest.raises(TransientError, match="Waiting for key key of Secret n/keys"):
        await execute([action], ports, "m")
    put_secret(ports, "keys", {"key": "KEY", "other": "x"})
    await execute([action], ports, "m")
    assert secret(ports) == {"tls.crt": "CERTIFICATE", "tls.key": "KEY"}
    assert "KEY" not in str(action)
