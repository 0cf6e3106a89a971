"""The objects of a service object: Secrets, contracts, its HelmBundle; and their order."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.kinds import POD, SECRET
from stackwright.api.services.contracts import DatabaseAccount, MessagingAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.service.backends import LOOK, RARELY, removed_backends
from stackwright.controllers.service.decide import CLOCK, POLL, REFRESH, decide
from stackwright.controllers.service.objects import bundle
from stackwright.controllers.service.observe import observe
from stackwright.core.objects import DIGEST
from stackwright.core.openstack.deployed.inventory import CONFIRM
from stackwright.core.plan import Apply, Delete
from stackwright.core.secrets.fernet import ROTATED
from stackwright.core.secrets.writes import CopySecret, EnsureSecret, RotateKeys
from stackwright.services import cinder, etcd, glance, keystone, memcached
from stackwright.services.etcd.kind import Etcd
from stackwright.services.keystone.features import KeystoneSettings
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import FERNET_KEYS
from stackwright.services.registry import SERVICES
from stackwright.services.values import LOSSES, merged_values
from tests.unit.controllers.builders import ANY, CONDITIONS, NAMESPACE, condition, makes_nothing, obj
from tests.unit.controllers.service.stage import SETTINGS, Stage

KEY = (NAMESPACE, "keystone")
KEYSTONE = ", ".join(sorted(KeystoneSettings.model_fields))


async def test_the_stages_follow_each_other_and_then_nothing_is_left_to_do():
    stage = Stage(database=True)
    first = await stage.do()
    made = [type(action) for action in first.actions]
    assert made == [EnsureSecret, EnsureSecret, RotateKeys, RotateKeys, Apply, Apply]
    assert str(first.actions[4]) == "apply MariaDB openstack/mariadb", "the mark follows the key"
    assert condition(first, "Database").message == "Waiting for DatabaseAccount openstack/keystone: it is being created"
    second = await stage.do()
    assert second.empty
    assert (
        condition(second).message
        == "Waiting for DatabaseAccount openstack/keystone: the operator has not processed it yet"
    )
    assert (second.status["state"], second.status["release"]) == ("WAITING", "")
    stage.ready(DatabaseAccount.KIND, "keystone")
    third = await stage.do()
    assert [str(action) for action in third.actions] == ["apply HelmBundle openstack/openstack-keystone"]
    assert third.status["state"] == "APPLYING"
    fourth = await stage.plan()
    assert fourth.empty and condition(fourth, "Release").status is False
    stage.ready(HelmBundle.KIND, "openstack-keystone", "False", "NotReady", "a pod starts")
    assert condition(await stage.plan()).message == "a pod starts"
    stage.ready(HelmBundle.KIND, "openstack-keystone")
    last = await stage.plan()
    assert last.empty and condition(last).status is True
    assert last.status == {"state": "APPLIED", "progress": "4/4", "release": "epoxy"}


async def test_keys_are_reconciled_when_the_next_rotation_is_due():
    stage = Stage()
    await stage.do()
    fernet = keystone.SERVICE.keys((await stage.look()).context)[0]
    stage.clock.forward(fernet.every - 600)
    assert (await stage.plan()).requeue == 600
    stage.clock.forward(600)
    turned = await stage.do()
    assert [str(action) for action in turned.actions] == ["rotate openstack/keystone-fernet-keys"]
    assert turned.requeue == CLOCK


async def test_a_rotation_noted_by_a_clock_that_was_ahead_delays_the_next_by_at_most_one_period():
    """A small step changes nothing: a key that is deleted too early makes its data unreadable."""
    stage = Stage(database=True)
    stage.clock.forward(1e9)
    await stage.do()
    fernet, credentials = keystone.SERVICE.keys((await stage.look()).context)
    stage.clock.forward(-fernet.every + 60)
    assert not [action for action in (await stage.plan()).actions if isinstance(action, RotateKeys)]
    stage.clock.forward(-120)
    turned = await stage.do()
    assert [action.key[1] for action in turned.actions if isinstance(action, RotateKeys)] == [FERNET_KEYS]
    assert turned.requeue == CLOCK
    stage.clock.forward(-credentials.every)
    assert len([action for action in (await stage.do()).actions if isinstance(action, RotateKeys)]) == 2
    assert not [action for action in (await stage.plan()).actions if isinstance(action, RotateKeys)]


@pytest.mark.parametrize("noted", ["yesterday", "", "nan"])
async def test_an_unreadable_note_of_a_rotation_does_not_stop_the_service(noted):
    stage = Stage()
    await stage.do()
    key = (NAMESPACE, FERNET_KEYS)
    live = stage.cluster.peek(SECRET, key)
    live["metadata"]["annotations"][ROTATED] = noted
    stage.cluster.put(SECRET, live)
    plan = await stage.plan()
    assert [str(action) for action in plan.actions] == ["rotate openstack/keystone-fernet-keys"]


async def test_without_a_node_for_it_a_service_gets_its_secrets_but_no_release():
    stage = Stage(memcached.SERVICE, node=False)
    plan = await stage.plan()
    assert plan.empty
    assert condition(plan).reason == "BlockedNoNode"
    assert "kubectl label node NODE openstack-control-plane=enabled" in condition(plan).message


def option(name="ldap", key="password"):
    reference = {"value_from": {"secret_key_ref": {"name": name, "key": key}}}
    return {"keystone": {"conf": {"keystone": {"ldap": {"password": reference}}}}}


def overrides(*levels):
    return {"overrides": [{"source": f"level {index}", "values": values} for index, values in enumerate(levels)]}


async def test_a_missing_secret_of_an_option_blocks_by_name_and_is_polled_often():
    stage = Stage(spec=overrides({}, option()))
    plan = await stage.plan()
    assert condition(plan, "Settings").reason == "BlockedMissingSecret"
    assert "key password of Secret openstack/ldap" in condition(plan, "Settings").message
    assert "level 1" in condition(plan, "Settings").message
    assert plan.requeue == POLL
    assert not [action for action in plan.actions if isinstance(action, CopySecret)]


async def test_a_users_secret_is_polled_because_it_is_not_watched():
    stage = Stage(spec=overrides(option()))
    stage.cluster.put(SECRET, {"metadata": {"namespace": NAMESPACE, "name": "ldap"}, "data": {"password": "eA=="}})
    await stage.do()
    assert (await stage.plan()).requeue == REFRESH


async def test_a_later_level_wins_with_a_plain_value_over_a_secrets_and_the_other_way_round():
    plain = {"keystone": {"conf": {"keystone": {"ldap": {"password": "plain"}}}}}
    seen = await Stage(spec=overrides(option(), plain)).look()
    assert seen.sensitive == {}
    values = bundle(seen, seen.context)["spec"]["releases"][0]["values"]
    assert values["conf"]["keystone"]["ldap"] == {"password": "plain"}
    seen = await Stage(spec=overrides(option(), {"keystone": {"conf": {"keystone": "x"}}})).look()
    assert seen.sensitive == {"keystone": {"ldap": {"password": ("ldap", "password")}}}
    seen = await Stage(spec=overrides(option(), {"keystone": {"conf": "x"}})).look()
    assert seen.sensitive == {"keystone": {"ldap": {"password": ("ldap", "password")}}}
    seen = await Stage(spec=overrides(plain, option("one"), option("two"))).look()
    assert seen.sensitive == {"keystone": {"ldap": {"password": ("two", "password")}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (overrides({"nova": {}}), "spec.overrides[0].values.nova: unknown chart; allowed: keystone, keystoneclient"),
        (overrides({"keystone": "x"}), "spec.overrides[0].values.keystone: takes a mapping"),
        (
            overrides({"keystone": {"pod": {"x": {"value_from": {}}}}}),
            "pod.x: value_from is allowed at conf.keystone.<SECTION>.<option> only",
        ),
        ({"settings": {"cadfs": "log"}}, f"spec.settings.cadfs: unknown field; did you mean cadf? allowed: {KEYSTONE}"),
        (
            {"settings": {"cadf": "smtp"}},
            "spec.settings.cadf: 'smtp' is not allowed; allowed: '', 'messagingv2' or 'log'",
        ),
        (
            {"settings": {"users": {"admin": "root"}}},
            "spec.settings.users.admin: takes a mapping of fields, not 'root'",
        ),
        (
            {"settings": {"federation": {"openid": {"enabled": True}}}},
            "spec.settings.federation.openid.enabled: is not supported by this version of Stackwright; "
            "only enabled: false is accepted",
        ),
    ],
)
async def test_values_that_pass_the_common_schema_are_rejected_with_their_path(spec, expected):
    plan = await Stage(spec=spec).plan()
    assert plan.empty
    assert (condition(plan).reason, condition(plan).message) == ("BlockedInvalidSpec", expected)


async def test_values_that_do_not_fit_name_the_level_the_chart_and_the_path():
    plan = await Stage(spec=overrides({}, {"keystone": {"conf": {"keystone": {"token": "x"}}}})).plan()
    assert condition(plan).reason == "BlockedInvalidValues"
    assert (
        condition(plan).message
        == "level 1, chart keystone: conf.keystone.token: a single value cannot override a mapping"
    )


@pytest.mark.parametrize(
    ("cadf", "needed"), [("", ["database"]), ("log", ["database"]), ("messagingv2", ["database", "messaging"])]
)
def test_a_cloud_has_a_bus_if_audit_events_use_it(cadf: str, needed: list[str]):
    """Without it the account would wait for a RabbitMQ that is never created."""
    assert [*keystone.SERVICE.requires(KeystoneSettings(cadf=cadf))] == needed


async def test_a_contract_that_is_no_longer_needed_is_deleted_once():
    stage = Stage(spec={"settings": {"cadf": "messagingv2"}})
    await stage.do()
    stage.ready(DatabaseAccount.KIND, "keystone")
    stage.ready(MessagingAccount.KIND, "keystone")
    await stage.do()
    stage.ready(HelmBundle.KIND, "openstack-keystone")
    live = stage.cluster.peek(Keystone.KIND, KEY)
    stage.cluster.put(Keystone.KIND, {**live, "spec": {**live["spec"], "settings": {}}})
    while (plan := await stage.do()).actions:
        assert not [a for a in plan.actions if isinstance(a, Delete)], "pods may still use it"
    stage.ready(HelmBundle.KIND, "openstack-keystone")
    plan = await stage.do()
    assert [str(a) for a in plan.actions if isinstance(a, Delete)] == ["delete MessagingAccount openstack/keystone"]
    assert (await stage.plan()).empty


def random_values():
    conf = st.dictionaries(st.sampled_from(["keystone", "x"]), ANY, max_size=2)
    return ANY | st.fixed_dictionaries({"conf": ANY | conf}, optional={"pod": ANY})


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "settings": ANY | st.fixed_dictionaries({}, optional={"admin": ANY, "cadf": ANY}),
        "overrides": ANY
        | st.lists(
            st.fixed_dictionaries(
                {
                    "source": st.just("s"),
                    "values": st.dictionaries(
                        st.sampled_from(["keystone", "mariadb", "x"]), random_values(), max_size=2
                    ),
                }
            ),
            max_size=2,
        ),
        "size": st.sampled_from(["single", "tiny", "x"]),
    },
)


class Lists:
    """A reader that gives the same objects for every question."""

    def __init__(self, thing, found):
        self.thing, self.found = thing, found

    async def get(self, kind, key):
        return (
            self.thing if key[1] == self.thing["metadata"]["name"] and kind.kind == self.thing["kind"] else self.found
        )

    async def list(self, kind, namespace="", labels=None):
        return [self.found] if self.found else []


@given(st.sampled_from(SERVICES), SPECS, CONDITIONS, st.booleans(), st.booleans())
async def test_any_observation_gets_a_decision_and_a_deleted_service_creates_nothing(
    declared, spec, conditions, deleting, there
):
    thing = obj(declared.kind, declared.name, spec, deleting=deleting)
    found = obj(declared.kind, "found", labels={}, annotations={DIGEST: "x"}) | {"status": {"conditions": conditions}}
    seen = await observe(declared, SETTINGS, Lists(thing, found if there else None), (NAMESPACE, declared.name), 5.0)
    plan = decide(replace(seen, now=1e9))
    assert not deleting or makes_nothing(plan)
    assert deleting or condition(plan) is not None
    if seen.errors:
        assert makes_nothing(plan)


def voting(*counts, size="tiny"):
    levels = [
        {"source": f"level {n}", "values": {"etcd": {"pod": {"replicas": {"server": count}}}}}
        for n, count in enumerate(counts)
    ]
    return {"size": size, "overrides": levels}


@pytest.mark.parametrize(
    ("old", "new", "by"),
    [
        (voting(), voting(1), "level 0, "),
        (voting(), voting(3, None), "level 1, "),
        (voting(3, size="single"), voting(size="single"), ""),
        (voting(size="tiny"), voting(size="single"), ""),
    ],
)
async def test_a_change_to_fewer_voting_servers_is_not_applied(old, new, by):
    """Also if admission did not reject it."""
    stage = Stage(etcd.SERVICE, old)
    stage.ready(Etcd.KIND, "etcd")
    for _ in range(4):
        await stage.do()
    before = stage.cluster.peek(HelmBundle.KIND, (NAMESPACE, "openstack-etcd"))["spec"]
    assert before["releases"][0]["values"]["pod"]["replicas"] == {"server": 3}
    live = stage.cluster.peek(Etcd.KIND, (NAMESPACE, "etcd"))
    stage.cluster.put(Etcd.KIND, {**live, "spec": new})
    plan = await stage.do()
    assert plan.empty
    told = condition(plan, "Settings")
    assert (told.reason, told.message) == (
        "BlockedWouldLoseMajority",
        f"{by}chart etcd: pod.replicas.server: cannot be reduced to 1: 1 of 3 voting servers may have no majority; "
        "allowed: 3 or more",
    )
    assert condition(plan).message == told.message
    assert stage.cluster.peek(HelmBundle.KIND, (NAMESPACE, "openstack-etcd"))["spec"] == before
    stage.cluster.put(Etcd.KIND, {**live, "spec": old})
    assert condition(await stage.plan(), "Settings").status is True


async def of_glance(**status):
    seen = await Stage(glance.SERVICE).look()
    return replace(seen, obj={**seen.obj, "status": status})


async def test_back_ends_are_recorded_as_used_only_when_the_service_is_ready():
    """Until then the former ones are recorded, so that no content is abandoned unseen."""
    plan = decide(await of_glance(backends=["former"]))
    assert not condition(plan).status
    assert plan.status["backends"] == ["former"]


async def test_back_ends_stay_recorded_as_used_while_the_spec_is_invalid():
    seen = await of_glance(backends=["former"])
    plan = decide(replace(seen, errors=("spec.x: wrong",), context=None))
    assert plan.status["backends"] == ["former"]


@pytest.mark.parametrize("status", [{}, {"backends": []}])
@pytest.mark.parametrize(
    ("declared", "old", "store"),
    [
        (glance.SERVICE, {"backends": {"file": {"former": {"pvc": {"size": "1Gi"}}}}}, "former"),
        (
            glance.SERVICE,
            {
                "backends": {
                    "file": {"images": {"pvc": {"size": "1Gi"}, "default": True}},
                    "cinder": {"former": {}},
                }
            },
            "former",
        ),
        (
            cinder.SERVICE,
            {"volume": {"backends": {"b": {"values": {"conf": {"backends": {"former": {"volume_driver": "x"}}}}}}}},
            "former",
        ),
    ],
)
async def test_a_deployed_back_end_is_in_use_although_the_status_does_not_name_it(declared, old, store, status):
    """The status is that of an earlier version, or of before an update that did not become ready."""
    seen = await Stage(declared).look()
    before = replace(seen, context=replace(seen.context, settings=declared.settings.model_validate(old)))
    deployed = bundle(before, before.context)
    release = deployed["spec"]["releases"][0]["name"]
    seen = replace(seen, obj={**seen.obj, "status": status}, bundle=deployed)
    desired = bundle(seen, seen.context)
    assert removed_backends(seen, seen.context, desired) == ([], None), (
        "nothing was ready, so nobody has stored anything"
    )
    used = replace(seen, bundle={**deployed, "status": {"releaseStatuses": {release: {"readyRevision": 1}}}})
    (look,), stage = removed_backends(used, used.context, desired)
    assert (look.holders, stage.status) == ((store,), False)
    assert store in decide(used).status["backends"]
    other = {"name": "x", "chart": "other", "values": deployed["spec"]["releases"][0]["values"]}
    unrelated = {**used.bundle, "spec": {"releases": [other]}}
    assert removed_backends(replace(used, bundle=unrelated), used.context, desired) == ([], None)


@pytest.mark.parametrize(
    ("component", "ready", "used"),
    [("api", "True", True), ("api", "False", False), ("db-sync", "True", False), ("scheduler", "True", False)],
)
@pytest.mark.parametrize(
    ("declared", "old"),
    [
        (glance.SERVICE, {"backends": {"file": {"former": {"pvc": {"size": "1Gi"}}}}}),
        (
            cinder.SERVICE,
            {"volume": {"backends": {"b": {"values": {"conf": {"backends": {"former": {"volume_driver": "x"}}}}}}}},
        ),
    ],
)
async def test_a_back_end_is_in_use_while_a_pod_serves_although_not_all_pods_were_ready(
    declared, old, component, ready, used
):
    """One of several pods is enough to upload an image. Neither status says that the service was ever ready."""
    stage = Stage(declared)
    labels = {"application": declared.name, "component": component}
    meta = {"namespace": NAMESPACE, "name": "p", "labels": labels}
    stage.cluster.put(POD, {"metadata": meta, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    seen = await stage.look()
    before = replace(seen, context=replace(seen.context, settings=declared.settings.model_validate(old)))
    seen = replace(seen, bundle=bundle(before, before.context))
    look, _ = removed_backends(seen, seen.context, bundle(seen, seen.context))
    assert [each.holders for each in look] == ([("former",)] if used else [])
    assert ("former" in decide(seen).status["backends"]) is used


async def test_a_store_that_an_override_still_names_is_not_removed():
    """Its images would block each update, or each inventory would make the service not ready for a moment."""
    more = {"enabled_backends": ["images:file", "web:http"]}
    values = {"glance": {"conf": {"glance": {"DEFAULT": more}}}}
    seen = await Stage(glance.SERVICE, {"overrides": [{"source": "a", "values": values}]}).look()
    deployed = bundle(seen, seen.context)
    release = deployed["spec"]["releases"][0]["name"]
    seen = replace(seen, bundle={**deployed, "status": {"releaseStatuses": {release: {"readyRevision": 1}}}})
    assert removed_backends(seen, seen.context, deployed) == ([], None)
    plain = await Stage(glance.SERVICE).look()
    (look,), stage = removed_backends(seen, seen.context, bundle(plain, plain.context))
    assert (look.holders, stage.status) == (("web",), False)


async def test_an_inventory_that_also_lists_other_back_ends_is_no_result():
    """Of an earlier change, which would also have removed one with content."""
    seen = await of_glance(backends=["former"])
    data = {"held.json": json.dumps({"former": [], "other": ["guest"]}), "since": "0"}
    seen = replace(seen, inventory={"metadata": {"annotations": {DIGEST: str(int(seen.now))}}, "data": data})
    (look,), stage = removed_backends(seen, seen.context, bundle(seen, seen.context))
    assert (look.holders, stage.status, stage.blocked) == (("former",), False, False)


async def test_a_back_end_is_removed_only_after_two_current_checks_found_it_empty():
    seen = await of_glance(backends=["former"])
    desired = bundle(seen, seen.context)
    (look,), stage = removed_backends(seen, seen.context, desired)
    assert (look.holders, stage.status) == (("former",), False)

    def checked(things, made, same=0.0):
        """The decision by a result of these seconds ago, when it had been the same for so long."""
        at = int(seen.now - made) if made != "unknown" else made
        since = str(int(seen.now - made - same)) if made != "unknown" else "soon"
        data = {"held.json": json.dumps({"former": things}), "since": since}
        found = replace(seen, inventory={"metadata": {"annotations": {DIGEST: str(at)}}, "data": data})
        return removed_backends(found, seen.context, desired)

    for made in (1, LOOK - 2):
        actions, stage = checked([], made, CONFIRM)
        assert (actions, stage.status) == ([], True)
    for made, same in (("unknown", 0), (LOOK + 1, CONFIRM), (-60, 3600), (CONFIRM + 1, 0), (CONFIRM + 1, -60)):
        actions, stage = checked([], made, same)
        assert (len(actions), stage.status, stage.blocked) == (1, False, False)
    actions, stage = checked([], 1)
    assert (actions, stage.status, stage.blocked) == ([], False, False), "a single result; the next one is due soon"
    assert decide(seen).requeue <= CONFIRM
    for made, same, count in (
        ("unknown", 0, 1), (LOOK - 2, 0, 0), (LOOK + 1, 0, 1), (LOOK + 1, 8 * LOOK, 0), (RARELY + 1, 1e6, 1),
    ):  # fmt: skip
        actions, stage = checked(["guest"], made, same)
        assert (len(actions), stage.reason) == (count, "BlockedWouldOrphan")
        assert "guest" in stage.message


async def test_a_lost_database_restarts_only_pods_that_use_it():
    context = replace((await Stage().look()).context, losses=2)
    marked = {
        chart.name: merged_values(keystone.SERVICE, context, chart)["pod"].get("annotations")
        for chart in keystone.SERVICE.charts
        if "pod" in merged_values(keystone.SERVICE, context, chart)
    }
    assert marked["keystone"] == {"default": {LOSSES: "2"}}
    assert not marked.get("keystoneclient")
