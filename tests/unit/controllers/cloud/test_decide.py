"""What an OpenStackDeployment becomes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.kinds import SECRET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.observe import Observed, observe
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.validate import parse
from stackwright.core.kubernetes import precache
from stackwright.core.objects import DIGEST
from stackwright.core.plan import Delete
from stackwright.core.secrets.writes import ExtractSecret
from stackwright.core.settings import Settings
from stackwright.runtime import x509
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.services.images import images_and_tolerations
from stackwright.services.ingress.features import GIVEN
from stackwright.services.registry import BY_SERVICE, SERVICES
from tests.unit.controllers.builders import ANY, AWAY, CONDITIONS, NAMESPACE, condition, makes_nothing, obj, with_ready

CLOUD = OpenStackDeployment.KIND
GOOD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
SETTINGS = Settings({declared.name: f"example.org/{declared.name}:1" for declared in SERVICES}, {})


def cloud(spec=None, **more):
    """A cloud of four services, unless it names its own."""
    spec = {**GOOD, **(spec or {})}
    features = spec.get("features") or {}
    spec["features"] = {**features, "services": [*AWAY, *features.get("services", ())]}
    return obj(CLOUD, "cloud", spec, **more)


def wanted(thing):
    parsed, errors = parse(thing)
    assert parsed is not None, errors
    return [(each, service_object(thing, parsed, each)) for each in wanted_services(parsed)]


def services(spec=None, **more):
    """The service objects as the cloud wants them, all ready."""
    made = {}
    for each, found in wanted(cloud(spec)):
        found["metadata"] |= {"generation": 1, **more}
        made[each.key] = with_ready(found, state="APPLIED", release="epoxy")
    return made


def holder(spec=None):
    """The DaemonSet with all images of the cloud."""
    thing = cloud(spec)
    needs = [images_and_tolerations(each.declared, found["spec"], SETTINGS.images) for each, found in wanted(thing)]
    images = set().union(*(images for images, _ in needs))
    return precache.daemonset(thing, images, "stackwright.local/pause:missing")


def seen(thing=None, others=(), there=None, held=None):
    """The observation of the controller when the nodes have the images of a cloud of four services."""
    return Observed(SETTINGS, thing or cloud(), others, there or {}, holder() if held is None else held, ())


def test_services_in_the_desired_state_are_not_written_and_make_the_cloud_ready():
    plan = decide(seen(there=services()))
    assert plan.empty
    assert condition(plan).status is True
    assert plan.status["progress"] == "4/4"


def test_all_services_are_written_in_one_plan_each_with_its_owner():
    plan = decide(seen())
    assert [str(action) for action in plan.actions] == [
        "apply MariaDB openstack/mariadb",
        "apply RabbitMQ openstack/rabbitmq",
        "apply Memcached openstack/memcached",
        "apply Keystone openstack/keystone",
    ]
    assert all(action.obj["metadata"]["ownerReferences"][0]["uid"] == "uid-cloud" for action in plan.actions)


def test_values_are_not_rendered_except_to_count_voters(monkeypatch):
    """The controller of each service renders them."""

    def rendered(context):
        raise AssertionError(f"{context.name}: rendered")

    there = services({"size": "tiny"})
    for name, declared in BY_SERVICE.items():
        charts = [each if each.voters else replace(each, values=rendered) for each in declared.charts]
        monkeypatch.setitem(BY_SERVICE, name, replace(declared, charts=tuple(charts)))
    size = {"size": "small"}
    plan = decide(seen(cloud(size), there=there, held=holder(size)))
    assert len(plan.actions) == 4, condition(plan)


def test_only_services_of_this_cloud_are_removed():
    there = services()
    there["Memcached", "other"] = obj(BY_SERVICE["memcached"].kind, "other")
    less = {"features": {"services": ["~memcached"]}}
    plan = decide(seen(cloud(less), (), there, holder(less)))
    assert plan.actions == (
        Delete(BY_SERVICE["memcached"].kind, (NAMESPACE, "memcached"), "no longer in preset or features.services"),
    )


def test_a_service_that_is_going_is_neither_removed_again_nor_written_to():
    there = services(deletionTimestamp="now")
    plan = decide(seen(cloud(), (), there))
    assert plan.empty
    assert condition(plan, "MariaDB").reason == "Deleting"
    less = {"features": {"services": ["~memcached"]}}
    assert decide(seen(cloud(less), (), there, holder(less))).empty


def test_the_worst_service_is_mirrored_with_its_own_reason_and_name():
    there = services()
    there["RabbitMQ", "rabbitmq"] = with_ready(there["RabbitMQ", "rabbitmq"], "False", "Slow", "it starts")
    there["Keystone", "keystone"] = with_ready(there["Keystone", "keystone"], "False", "BlockedX", "mend it")
    plan = decide(seen(cloud(), (), there))
    assert (condition(plan).reason, condition(plan).message) == ("BlockedX", "Keystone: mend it")
    assert plan.status["services"]["messaging"]["message"] == "it starts"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([], ["database", "messaging", "memcached", "identity"]),
        (["~messaging"], ["database", "memcached", "identity"]),
        (["memcached"], ["database", "messaging", "memcached", "identity"]),
        (["~identity", "~database", "~messaging"], ["memcached"]),
    ],
)
def test_services_are_added_to_and_removed_from_the_preset_in_order(asked, names):
    spec, _ = parse(cloud({"features": {"services": asked}}))
    assert [each.declared.service for each in wanted_services(spec)] == names


VALUES = {"a": 1}


def charts(group):
    return ", ".join(sorted(chart.name for each in SERVICES if each.group == group for chart in each.charts))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"services": {"identity": "x"}}, "spec.services.identity: takes a mapping of charts"),
        ({"services": {"identity": None}}, "spec.services.identity: takes a mapping of charts"),
        (
            {"services": {"identity": {"nova": {}}}},
            "spec.services.identity.nova: unknown chart; allowed: keystone, keystoneclient",
        ),
        (
            {"services": {"identity": {"keystne": {}}}},
            "spec.services.identity.keystne: unknown chart; did you mean keystone? allowed: keystone, keystoneclient",
        ),
        (
            {"services": {"identity": {"keystone": "x"}}},
            "spec.services.identity.keystone: takes only a mapping `values`",
        ),
        (
            {"services": {"identity": {"keystone": {"value": VALUES}}}},
            "spec.services.identity.keystone: takes only a mapping `values`",
        ),
        (
            {"services": {"identity": {"keystone": {"values": []}}}},
            "spec.services.identity.keystone: takes only a mapping `values`",
        ),
        (
            {"common": {"openstack": {"releases": {"mariadb": {}}}}},
            f"spec.common.openstack.releases.mariadb: unknown chart; allowed: {charts('openstack')}",
        ),
        (
            {"common": {"charts": {"releases": {"keystone": "x"}}}},
            "spec.common.charts.releases.keystone: takes only a mapping `values`",
        ),
        (
            {"common": {"openstack": {"releases": {"keystone": VALUES}}}},
            "spec.common.openstack.releases.keystone: takes only a mapping `values`",
        ),
        (
            {"common": {"infra": {"releases": {"keystone": {}}}}},
            f"spec.common.infra.releases.keystone: unknown chart; allowed: {charts('infra')}",
        ),
        ({"nodes": {"rack1": {}}}, "spec.nodes.rack1: write <label>::<value>"),
        ({"nodes": {"rack::": {}}}, "spec.nodes.rack::: write <label>::<value>"),
        ({"nodes": {"::r1": {}}}, "spec.nodes.::r1: write <label>::<value>"),
        (
            {"nodes": {"a::b": {"services": {"nova": {}}}}},
            "spec.nodes.a::b.services.nova: unknown service; did you mean compute? "
            f"allowed: {', '.join(sorted(BY_SERVICE))}",
        ),
        (
            {"nodes": {"a::b": {"services": {"identity": "x"}}}},
            "spec.nodes.a::b.services.identity: takes a mapping of charts",
        ),
        (
            {"nodes": {"a::b": {"services": {"identity": {"nova": {}}}}}},
            "spec.nodes.a::b.services.identity.nova: unknown chart; allowed: keystone, keystoneclient",
        ),
        (
            {"nodes": {"a::b": {"services": {"identity": {"keystone": ["x"]}}}}},
            "spec.nodes.a::b.services.identity.keystone: takes a mapping of DaemonSets",
        ),
        (
            {"nodes": {"a::b": {"services": {"identity": {"keystone": {"api": {}}}}}}},
            "spec.nodes.a::b.services.identity.keystone.api: unknown DaemonSet; allowed: none",
        ),
    ],
)
def test_an_override_without_a_target_is_rejected_with_its_path_and_the_allowed_ones(change, expected):
    spec, errors = parse(cloud(change))
    assert (spec, errors) == (None, [expected])
    plan = decide(seen(cloud(change), (), services()))
    assert plan.empty
    assert (condition(plan).reason, condition(plan).message) == ("BlockedInvalidSpec", expected)


def test_the_oldest_object_is_the_cloud_of_the_namespace():
    plan = decide(seen(others=("first",)))
    assert plan.empty
    assert condition(plan).reason == "BlockedAnotherCloud"
    assert "first" in condition(plan).message


async def test_clouds_are_ordered_by_age_and_then_by_name():
    clock = FrozenClock()
    cluster = MemoryCluster(clock=clock)
    for name in ("old", "b", "a"):
        cluster.put(CLOUD, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": GOOD})
        clock.forward(60 if name == "old" else 0)
    others = {name: (await observe(SETTINGS, cluster, (NAMESPACE, name), 0.0)).others for name in ("old", "a", "b")}
    older = [f"{CLOUD} {name}" for name in ("old", "a")]
    assert others == {"old": (), "a": tuple(older[:1]), "b": tuple(older)}


def test_a_draft_and_a_deleted_cloud_are_not_changed():
    assert decide(seen(cloud({"draft": True}), (), services())).empty
    assert decide(seen(cloud(deleting=True), (), {})) == decide(seen(cloud(deleting=True), (), services()))
    assert decide(seen(cloud(deleting=True))).empty


def test_a_lost_node_is_worse_than_nothing_and_less_than_a_blocked_service():
    lost = {"type": "Nodes", "status": "False", "reason": "NodeLost", "message": "Node n is not ready"}
    thing = cloud()
    thing["status"] = {"conditions": [lost]}
    plan = decide(seen(thing, (), services()))
    assert (condition(plan).reason, condition(plan).message) == ("NodeLost", "Node n is not ready")
    assert "Nodes" not in [c.type for c in plan.conditions], "that condition is the node controller's"


SPECS = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.just(value) | ANY for name, value in GOOD.items()},
        "services": st.dictionaries(
            st.sampled_from(["identity", "database"]), ANY | st.dictionaries(st.just("keystone"), ANY), max_size=2
        ),
        "common": st.fixed_dictionaries(
            {},
            optional={
                "charts": st.fixed_dictionaries(
                    {}, optional={"values": ANY, "releases": st.dictionaries(st.just("keystone"), ANY)}
                )
            },
        ),
        "nodes": st.dictionaries(
            st.sampled_from(["a::b", "x"]),
            st.fixed_dictionaries({}, optional={"services": ANY | st.dictionaries(st.just("identity"), ANY)}),
            max_size=2,
        ),
        "features": ANY
        | st.fixed_dictionaries({"services": st.lists(st.sampled_from(["identity", "~identity", "~database"]))}),
        "draft": st.booleans(),
    },
)


@given(SPECS | ANY, CONDITIONS, st.booleans(), st.booleans())
def test_any_spec_gets_a_decision_and_a_deleted_cloud_creates_nothing(spec, conditions, deleting, there):
    thing = obj(CLOUD, "cloud", spec, deleting=deleting) | {"status": {"conditions": conditions}}
    if not isinstance(spec, dict):
        thing["spec"] = None
    plan = decide(seen(thing, (), services() if there else {}))
    assert not deleting or makes_nothing(plan)
    assert deleting or condition(plan) is not None
    if condition_reason(plan) == "BlockedInvalidSpec":
        assert plan.empty


def condition_reason(plan):
    return plan.conditions[0].reason if plan.conditions else ""


def test_every_service_that_a_user_may_name_is_declared():
    from stackwright.cloud.deployment import SERVICES as NAMES

    assert sorted(NAMES) == sorted(declared.service for declared in SERVICES)


def test_a_certificate_that_a_user_removed_from_its_secret_is_restored():
    authority = x509.authority("it", 1_700_000_000.0)
    issued, _ = x509.issue(authority, ("*.example.org",), (), 1_700_000_000.0)
    given = {"ca_cert": authority["ca.crt"], "api_cert": issued["tls.crt"], "api_key": issued["tls.key"]}
    thing = cloud({"features": {"ssl": {"public_endpoints": given}}})

    def extracted(*secrets):
        plan = decide(replace(seen(thing), secrets=secrets))
        return [action for action in plan.actions if isinstance(action, ExtractSecret)]

    (action,) = extracted()
    there = obj(SECRET, GIVEN, annotations={DIGEST: action.digest}) | {"data": dict.fromkeys(action.fields, "")}
    assert extracted(there) == []
    assert extracted(there | {"data": dict.fromkeys(list(action.fields)[1:], "")}) == [action]
