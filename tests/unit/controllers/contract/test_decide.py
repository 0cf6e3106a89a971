"""Contracts: Secret first, then the account when its provider is ready, and away with it at the end."""

import configparser
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stackwright.api.crd import crd
from stackwright.api.kinds import SECRET
from stackwright.cloud.registry import BY_KIND
from stackwright.controllers.contract import controllers
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import AGAIN, decide
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.controllers.contract.objects import fulfilled
from stackwright.controllers.contract.observe import Observed
from stackwright.core.objects import DIGEST, FINALIZER
from stackwright.core.ports import UNCHECKED
from stackwright.core.secrets.writes import EnsureSecret
from stackwright.runtime.accounts import KEPT
from tests.unit.controllers.builders import ANY, CONDITIONS, NAMESPACE, condition, makes_nothing, obj, with_ready

SPECS = {
    "database": {
        "instance": "p",
        "database": "d",
        "username": "u",
        "secretName": "s",
        "grants": ["ALL PRIVILEGES"],
        "dropDatabase": False,
    },
    "messaging": {"instance": "p", "vhost": "v", "username": "u", "secretName": "s"},
    "identity": {
        "instance": "p",
        "serviceName": "glance",
        "serviceType": "image",
        "username": "u",
        "secretName": "s",
        "endpoints": {"internal": "http://i", "public": "http://p"},
    },
}
CONTRACTS = {"database": DATABASE, "messaging": MESSAGING, "identity": IDENTITY}
each_contract = pytest.mark.parametrize("name", CONTRACTS)


def seen(name, *, finalizers=(FINALIZER,), provider="True", secret=True, digest="", deleting=False):
    """provider: status of its Ready; None for no provider, "gone" for one that is being deleted."""
    contract = CONTRACTS[name]
    thing = obj(contract.kind, "x", SPECS[name], finalizers=list(finalizers), deleting=deleting)
    thing["status"] = {"digest": digest}
    instance = (
        None
        if provider is None
        else with_ready(obj(contract.instance_kind, "p", deleting=provider == "gone"), provider, "R", "it elects")
    )
    wanted = Observed(contract, thing, instance, None)
    made = (
        next(action for action in decide(wanted).actions if isinstance(action, EnsureSecret))
        if secret and not deleting
        else None
    )
    stored = obj(SECRET, "s", annotations={DIGEST: made.digest}) if made else None
    return replace(wanted, secret=stored)


def verbs(plan):
    return [action.verb for action in plan.actions]


@each_contract
def test_the_secret_is_created_first_even_without_a_provider(name):
    plan = decide(seen(name, finalizers=(), provider=None, secret=False))
    assert verbs(plan) == ["secret"]
    assert condition(plan).status is False


@each_contract
def test_the_finalizer_precedes_the_account_and_waits_for_its_provider(name):
    assert decide(seen(name, finalizers=(), provider="False")).empty
    plan = decide(seen(name, finalizers=()))
    assert len(plan.actions) == 2 and verbs(plan)[0] == "finalizer"
    assert "finalizer" not in verbs(decide(seen(name)))
    removed = decide(seen(name, finalizers=(), digest=plan.status["digest"]))
    assert verbs(removed) == verbs(plan), "somebody took it off"


@each_contract
def test_an_account_waits_for_its_provider_and_reports_why(name):
    plan = decide(seen(name, provider="False"))
    assert plan.empty
    kind = CONTRACTS[name].instance_kind.kind
    assert condition(plan).message == f"Waiting for {kind} openstack/p: it elects"
    assert condition(decide(seen(name, provider=None))).message == f"Waiting for {kind} openstack/p: it does not exist"


def with_serving(what, status, since):
    """The same with a provider that reports whether it serves, and since when."""
    entry = {"type": "Serving", "status": status, "reason": "R", "message": "it starts", "lastTransitionTime": since}
    before = what.instance["status"]["conditions"]
    return replace(what, instance={**what.instance, "status": {"conditions": [*before, entry]}})


@each_contract
def test_a_provider_that_serves_need_not_be_whole(name):
    serves = with_serving(seen(name, provider="False"), "True", "2026-01-01T00:00:00Z")
    assert verbs(decide(serves)) == verbs(decide(seen(name)))
    going = with_serving(seen(name, provider="False", deleting=True), "True", "2026-01-01T00:00:00Z")
    assert verbs(decide(going)) == verbs(decide(seen(name, deleting=True)))
    waits = decide(with_serving(seen(name), "False", "2026-01-01T00:00:00Z"))
    assert waits.empty and condition(waits).message.endswith(": it starts")


def test_a_provider_counts_as_interrupted_when_it_was_unavailable_or_incomplete():
    what = seen("identity")
    what.instance["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-02T00:00:00Z"
    for since, told in (("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), ("2026-01-03T00:00:00Z",) * 2):
        assert decide(with_serving(what, "True", since)).status["providerSince"] == told


@each_contract
def test_the_account_is_created_once_and_again_after_a_change_of_spec_or_secret(name):
    made = decide(seen(name))
    assert len(made.actions) == 1 and condition(made).status is True
    before = made.status["digest"]
    after = decide(seen(name, digest=before))
    assert after.empty and condition(after).status is True
    assert decide(seen(name, digest=before, provider="False")).empty, "what is done needs no provider"
    anew = seen(name, digest=before)
    anew.secret["metadata"]["uid"] = "another"
    assert len(decide(anew).actions) == 1


def test_users_of_keystone_that_differ_only_in_case_are_equal():
    what = seen("identity")
    what.obj["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    spec = {**SPECS["identity"], "username": SPECS["identity"]["username"].upper(), "secretName": "t"}
    other = obj(CONTRACTS["identity"].kind, "other", {**spec, "serviceName": "another", "serviceType": "another"})
    other["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    plan = decide(replace(what, others=(other,)))
    assert not plan.actions
    assert condition(plan).reason == "BlockedTaken"


@each_contract
def test_an_account_belongs_to_the_oldest_object_that_names_it(name):
    """Two objects would alternately set their passwords, and the deletion of the first would delete the account of
    both.
    """
    what = seen(name)
    what.obj["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    other = obj(CONTRACTS[name].kind, "other", SPECS[name])
    for stamp, belongs in (("2026-01-01T00:00:00Z", False), ("2026-01-03T00:00:00Z", True)):
        other["metadata"]["creationTimestamp"] = stamp
        plan = decide(replace(what, others=(other,)))
        assert bool(plan.actions) is belongs
        assert condition(plan).blocked is not belongs
        if not belongs:
            assert condition(plan).reason == "BlockedTaken"
            assert f"user u of {CONTRACTS[name].instance_kind.kind} p" in condition(plan).message
            assert f"{CONTRACTS[name].kind.kind} other" in condition(plan).message
        gone = {**what.obj, "metadata": {**what.obj["metadata"], "deletionTimestamp": "2026-01-04T00:00:00Z"}}
        absent = decide(replace(what, obj=gone, others=(other,))).actions
        assert any(hasattr(action, "absent") for action in absent) is belongs, "only its owner takes it away"
    elsewhere = obj(CONTRACTS[name].kind, "other", {**SPECS[name], "instance": "another", "secretName": "t"})
    assert decide(replace(what, others=(elsewhere,))).actions


@each_contract
def test_a_created_account_stays_recorded_despite_later_errors(name):
    """Otherwise a deletion of the object in the meantime would leave the account behind."""
    made = decide(seen(name)).status
    what = seen(name, digest=made["digest"])
    what.obj["status"] |= {"providerUid": made["providerUid"], "losses": 3}
    what.obj["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    older = obj(CONTRACTS[name].kind, "other", SPECS[name], creationTimestamp="2026-01-01T00:00:00Z")
    invalid = {**what.obj, "spec": {**SPECS[name], "username": ""}}
    for wrong in (replace(what, others=(older,)), replace(what, obj=invalid), replace(what, secret=None)):
        plan = decide(wrong)
        assert condition(plan).status is False
        assert {key: plan.status[key] for key in ("digest", "losses")} == {"digest": made["digest"], "losses": 3}


@each_contract
def test_a_lost_account_is_deleted_too_when_its_provider_returns(name):
    """Perhaps only a part of it was lost."""
    what = seen(name, provider="False", deleting=True)
    what.obj["status"] = {"digest": "", "losses": 1}
    plan = decide(what)
    assert plan.empty
    assert condition(plan).reason == "Deleting"


def test_a_shared_resource_outlives_one_of_its_accounts():
    for name, field, value in (("database", "dropped", ()), ("messaging", "keep_vhost", True)):
        what = seen(name, deleting=True, digest="made")
        what.obj["spec"] = {**SPECS[name], **({"dropDatabase": True} if name == "database" else {})}
        assert getattr(decide(what).actions[0], field) is not value
        other = obj(CONTRACTS[name].kind, "x2", {**SPECS[name], "username": "other", "secretName": "t"})
        assert getattr(decide(replace(what, others=(other,))).actions[0], field) is value
        other["spec"]["instance"] = "another"
        assert getattr(decide(replace(what, others=(other,))).actions[0], field) is not value, "of another provider"


def test_of_several_databases_only_those_that_others_use_outlive_the_account():
    what = seen("database", deleting=True, digest="made")
    what.obj["spec"] = {**SPECS["database"], "dropDatabase": True, "additionalDatabases": ["shared", "own"]}
    others = [
        obj(DATABASE.kind, f"x{n}", {**SPECS["database"], "username": f"u{n}", "secretName": f"t{n}", **named})
        for n, named in enumerate([{"database": "shared"}, {"database": "e", "additionalDatabases": ["f"]}])
    ]
    assert decide(what).actions[0].dropped == ("d", "shared", "own")
    assert decide(replace(what, others=tuple(others))).actions[0].dropped == ("d", "own")


def test_of_two_deleted_contracts_the_older_one_deletes_shared_resources():
    for name, field, kept in (("database", "dropped", ()), ("messaging", "keep_vhost", True)):
        what = seen(name, deleting=True, digest="made")
        what.obj["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
        what.obj["spec"] = {**SPECS[name], **({"dropDatabase": True} if name == "database" else {})}
        other = obj(CONTRACTS[name].kind, "x2", {**what.obj["spec"], "username": "other", "secretName": "t"})
        other["metadata"]["deletionTimestamp"] = "2026-01-04T00:00:00Z"
        for stamp, younger in (("2026-01-01T00:00:00Z", True), ("2026-01-03T00:00:00Z", False)):
            other["metadata"]["creationTimestamp"] = stamp
            assert (getattr(decide(replace(what, others=(other,))).actions[0], field) is kept) is younger


def test_a_contract_that_waits_for_an_account_is_queued_when_its_owner_changes():
    first, second = (obj(DATABASE.kind, name, SPECS["database"]) for name in ("a", "b"))
    third = obj(DATABASE.kind, "c", {**SPECS["database"], "username": "another", "secretName": "t"})
    (controller,) = (each for each in controllers(UNCHECKED) if each.kind == DATABASE.kind)
    keys = next(watch.keys for watch in controller.watches if watch.kind == DATABASE.kind)
    every = [first, second, third]

    def woken(by):
        return list(keys(by, lambda kind, namespace: every))

    for each in every:
        woken(each)
    assert woken(first) == [(NAMESPACE, "b")]
    assert woken(second) == []
    renamed = {**first, "spec": {**first["spec"], "username": "another", "secretName": "t"}}
    assert woken(renamed) == [(NAMESPACE, "b"), (NAMESPACE, "c")], "b gets what a had, c waits for what a has"


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("database", "username", ["root", "ROOT", "mysql"]),
        ("database", "database", ["mysql", "sys", "information_schema", "Performance_Schema"]),
        ("database", "additionalDatabases", [["mysql"], ["a`b"], ["a.b"]]),
        ("messaging", "username", ["admin", "guest"]),
        ("identity", "username", ["admin"]),
        ("identity", "serviceName", ["keystone"]),
        ("identity", "additionalRoles", [["admin"], ["Member"]]),
    ],
)
def test_names_of_the_providers_own_accounts_are_rejected(name, field, values):
    contract = CONTRACTS[name]
    schema = crd(BY_KIND[contract.kind.kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    node = schema["properties"]["spec"]["properties"][field]
    rules = node.get("items", node)["x-kubernetes-validations"]
    assert any("self.lowerAscii() in" in rule["rule"] for rule in rules)
    for value in values:
        with pytest.raises(ValidationError):
            contract.spec.model_validate({**SPECS[name], field: value})
        what = seen(name)
        what.obj["spec"] = {**SPECS[name], field: value}
        assert decide(what).empty and condition(decide(what)).reason == "BlockedInvalidSpec"


@each_contract
def test_an_account_that_its_provider_lost_is_reported_and_recreated(name):
    before = decide(seen(name)).status["digest"]
    lost = decide(replace(seen(name, digest=before), missing="user u"))
    assert lost.empty and lost.status["digest"] == "" and lost.requeue == AGAIN
    kind = CONTRACTS[name].instance_kind.kind
    assert condition(lost).status is False and condition(lost).reason == "AccountMissing"
    assert condition(lost).message == f"{kind} p has lost user u; the operator recreates it"
    again = decide(seen(name, digest=lost.status["digest"]))
    assert len(again.actions) == 1 and condition(again).status is True


@each_contract
def test_a_loss_counts_despite_other_changes_but_never_before_the_creation(name):
    lost = decide(replace(seen(name, digest="of-another-version"), missing="user u"))
    assert lost.empty and condition(lost).reason == "AccountMissing"
    assert (lost.status["digest"], lost.status["losses"]) == ("", 1)
    first = decide(replace(seen(name), missing="user u"))
    assert len(first.actions) == 1 and first.status["losses"] == 0


@each_contract
def test_each_loss_counts_so_that_clients_notice_the_next_one(name):
    what = seen(name, digest=decide(seen(name)).status["digest"])
    what.obj["status"] |= {"providerUid": "uid-p", "losses": 2}
    assert decide(what).status["losses"] == 2
    assert decide(replace(what, missing="user u")).status["losses"] == 3
    what.instance["metadata"]["uid"] = "another"
    assert decide(what).status["losses"] == 3, "this provider never had the account"


@each_contract
def test_another_provider_of_the_same_name_has_no_account_yet(name):
    what = seen(name, digest=decide(seen(name)).status["digest"])
    what.instance["metadata"]["uid"] = "another"
    assert len(decide(what).actions) == 1


@each_contract
def test_accounts_are_checked_again_but_not_all_at_the_same_time(name):
    what = seen(name, digest=decide(seen(name)).status["digest"])
    pauses = set()
    for uid in range(20):
        what.obj["metadata"]["uid"] = str(uid)
        pauses.add(decide(what).requeue)
    assert len(pauses) > 10 and min(pauses) > KEPT and max(pauses) < 600


@each_contract
def test_no_password_is_in_an_action(name):
    (action,) = decide(seen(name)).actions
    assert action.secret == (NAMESPACE, "s")
    assert "password" not in str(action).lower()


@each_contract
@pytest.mark.parametrize(
    ("provider", "digest", "takes_away", "lets_go"),
    [
        ("True", "made", True, True),
        ("True", "", True, True),
        ("False", "made", False, False),
        ("False", "", False, False),  # killed before the status recorded the account
        ("gone", "made", False, True),
        (None, "made", False, True),
    ],
)
def test_the_account_is_deleted_unless_its_provider_is_gone(name, provider, digest, takes_away, lets_go):
    plan = decide(seen(name, provider=provider, digest=digest, deleting=True))
    assert [action.absent for action in plan.actions if hasattr(action, "absent")] == [True] * takes_away
    assert ("finalizer" in verbs(plan)) is lets_go
    if not lets_go:
        assert "to delete the account: it elects" in condition(plan).message


@each_contract
def test_without_our_finalizer_nothing_is_owed(name):
    assert decide(seen(name, finalizers=("other",), digest="made", deleting=True)).empty


@pytest.mark.parametrize("grants", [["SELECT", "GRANT OPTION"], ["SUPER"], [], "SELECT"])
def test_rejected_grants_create_no_account_but_allow_its_deletion(grants):
    for deleting in (False, True):
        what = seen("database", digest="made", deleting=deleting)
        thing = {**what.obj, "spec": {**SPECS["database"], "grants": grants}}
        plan = decide(replace(what, obj=thing))
        assert [action.absent for action in plan.actions if hasattr(action, "absent")] == [True] * deleting
        assert deleting or condition(plan).reason == "BlockedInvalidSpec"


def test_accounts_of_an_earlier_version_are_applied_again_with_narrower_rights():
    """Its digest covers the same spec without the additions of the newer version."""
    what = seen("database")
    for revision, again in ((DATABASE.revision[:1], True), (DATABASE.revision, False)):
        made = fulfilled(replace(DATABASE, revision=revision), what.obj, what.secret, what.instance)
        plan = decide(replace(what, obj={**what.obj, "status": {"digest": made}}))
        assert any(hasattr(action, "absent") for action in plan.actions) is again


@given(
    st.sampled_from(sorted(CONTRACTS)),
    st.dictionaries(st.sampled_from(["instance", "username", "grants", "vhost", "x"]), ANY, max_size=3),
    st.sampled_from([None, "True", "False", "gone"]),
    st.booleans(),
    CONDITIONS,
)
def test_any_spec_gets_a_decision_and_a_deleted_contract_creates_nothing(name, change, provider, deleting, conditions):
    what = seen(name, provider=provider, deleting=deleting)
    thing = {**what.obj, "spec": {**SPECS[name], **change}, "status": {"conditions": conditions}}
    plan = decide(replace(what, obj=thing))
    assert not deleting or makes_nothing(plan)
    assert deleting or condition(plan) is not None


def of(name, **more):
    """The spec as its model reads it."""
    return CONTRACTS[name].spec.model_validate({**SPECS[name], **more})


def filled(name, **more):
    spec = of(name, **more)
    fields = {**CONTRACTS[name].fixed(spec, NAMESPACE), "password": "P", "cache_key": "K"}
    return {key: text.format(**fields) for key, text in CONTRACTS[name].templates(spec).items()}


def test_the_connection_is_in_the_section_that_the_service_reads():
    assert filled("database")["database.conf"].startswith(
        "[database]\nconnection = mysql+pymysql://u:P@p.openstack.svc"
    )
    assert filled("database", section="api_database")["database.conf"].startswith("[api_database]\n")
    with pytest.raises(ValidationError, match="section"):
        of("database", section="a]b")


def test_the_action_contains_additional_databases_and_a_shared_virtual_host():
    spec = of("database", additionalDatabases=["nova_cell0"])
    assert CONTRACTS["database"].action(spec, NAMESPACE, False).additional == ("nova_cell0",)
    for shared in (True, False):
        action = CONTRACTS["messaging"].action(of("messaging", sharedVhost=shared), NAMESPACE, True)
        assert action.keep_vhost is shared
        assert ("vhost v" in str(action)) is not shared


def test_the_buses_for_requests_and_notifications_have_separate_snippets():
    url = "rabbit://u:P@p.openstack.svc:5672/v"
    made = filled("messaging")
    assert made["messaging.conf"] == f"[DEFAULT]\ntransport_url = {url}\n"
    assert made["notifications.conf"] == f"[oslo_messaging_notifications]\ntransport_url = {url}\n"


def test_each_bus_has_its_own_administrator():
    action = CONTRACTS["messaging"].action(of("messaging", instance="nova-rabbitmq"), NAMESPACE, False)
    assert (action.host, action.admin_secret) == ("nova-rabbitmq.openstack.svc", (NAMESPACE, "nova-rabbitmq-admin"))


def test_a_login_is_in_each_section_that_a_service_requests():
    made = filled("identity", sections=["placement", "service_user"], region="Here")
    text = configparser.ConfigParser(interpolation=None)
    text.read_string(made["auth.conf"])
    assert text.sections() == ["placement", "service_user"]
    for section in text.sections():
        assert dict(text[section]) == {
            "auth_type": "password", "auth_url": "http://keystone-api.openstack.svc:5000/v3", "username": "u",
            "password": "P", "project_name": "service", "user_domain_name": "Default",
            "project_domain_name": "Default", "region_name": "Here",
        }  # fmt: skip
    assert filled("identity")["auth.conf"] == ""
    assert made["keystone_authtoken.conf"].startswith("[keystone_authtoken]\nwww_authenticate_uri = ")


def test_a_service_encrypts_the_tokens_that_it_keeps_in_the_cache():
    """With its own random key, which is created and deleted with its password."""
    text = configparser.ConfigParser(interpolation=None)
    text.read_string(filled("identity")["keystone_authtoken.conf"])
    token = text["keystone_authtoken"]
    assert (token["memcache_security_strategy"], token["memcache_secret_key"]) == ("ENCRYPT", "K")


@each_contract
def test_the_start_of_the_providers_serving_is_kept_until_the_account_was_checked(name):
    """Otherwise a restarted provider that was not checked yet would count as checked."""
    made = decide(seen(name)).status
    what = seen(name, digest=made["digest"])
    what.obj["status"] |= {"providerUid": made["providerUid"], "providerSince": "before"}
    assert decide(what).status["providerSince"] == "before"
    assert decide(replace(what, since="now")).status["providerSince"] == "now"
