"""Helm runs with the operator's rights: a HelmBundle takes shipped charts only, into its own namespace only.

Charts with rights on nodes only service objects may have installed, and a release belongs to one HelmBundle.
"""

from contextlib import closing
from dataclasses import replace

import pytest
from pydantic import ValidationError

from stackwright.adapters.helm.command import HelmCli
from stackwright.admission.validate import errors_of
from stackwright.api.kinds import SECRET
from stackwright.api.services.helmbundle import HelmBundle, HelmBundleSpec
from stackwright.cloud.registry import ADMITTED
from stackwright.controllers.helmbundle import controllers
from stackwright.controllers.helmbundle.claims import recorded_releases
from stackwright.controllers.helmbundle.decide import decide as decide_once
from stackwright.controllers.helmbundle.observe import Observed, observe
from stackwright.controllers.helmbundle.step import RETRY_FAILED
from stackwright.core.ages import Ages
from stackwright.core.errors import TerminalError
from stackwright.core.helm.records import BUNDLE_LABEL, DIGEST_LABEL, bundle_label
from stackwright.core.objects import FINALIZER, key_of, owner_reference
from stackwright.core.plan import HelmUpgrade
from stackwright.core.settings import Settings
from stackwright.runtime.memory import FrozenClock, MemoryCluster, MemoryHelm
from stackwright.services.keystone.kind import Keystone
from stackwright.services.nova.kind import Nova
from tests.unit.controllers.builders import NAMESPACE, condition, obj

SHIPPED = Settings({}, {"memcached": "digest"})
ANY = Settings({}, {"memcached": "digest"}, unrestricted=True)
URL = "https://charts.example/evil-1.tgz"


def decide(what):
    """The plan, together with that of the next reconcile if this one only names the releases in the status."""
    first = decide_once(what)
    named = {**what.obj, "status": dict(first.status)}
    if recorded_releases(named) <= recorded_releases(what.obj):
        return first
    then = decide_once(replace(what, obj=named))
    return replace(then, actions=(*first.actions, *then.actions))


def seen(release, settings=SHIPPED, *, statuses=None, deleting=False):
    thing = obj(HelmBundle.KIND, "b", {"releases": [release]}, finalizers=[FINALIZER], deleting=deleting)
    return Observed(settings, {**thing, "status": {"releaseStatuses": statuses or {}}})


def texts(plan):
    return [str(action) for action in plan.actions]


def test_admission_checks_values_with_the_schema_of_their_chart():
    schema = {"type": "object", "properties": {"pod": {"type": "object"}}}
    release = {"name": "x", "chart": "memcached", "values": {"pod": 1}}
    (error,) = errors_of(seen(release).obj, settings=replace(SHIPPED, schemas={"memcached": schema}))
    assert error.startswith("spec.releases[0].values.pod: ")


@pytest.mark.parametrize(
    ("release", "field"),
    [
        ({"name": "x", "chart": URL}, "chart"),
        ({"name": "x", "chart": "./local"}, "chart"),
        ({"name": "x", "chart": "oci://r.example/c"}, "chart"),
        ({"name": "x", "chart": "memcached", "namespace": "kube-system"}, "namespace"),
    ],
)
def test_other_charts_and_namespaces_are_refused_unless_the_operator_permits_them(release, field):
    plan = decide(seen(release))
    assert plan.empty and condition(plan).reason == "BlockedNotPermitted"
    assert f"{field}: " in condition(plan).message and "helmbundles.unrestricted" in condition(plan).message
    (error,) = errors_of(seen(release).obj, settings=SHIPPED)
    assert error.startswith(f"spec.releases[0].{field}: ")
    assert len(decide(seen(release, ANY)).actions) == 1
    assert errors_of(seen(release).obj, settings=ANY) == []


def test_a_bundle_removes_nothing_from_a_namespace_without_permission():
    release = {"name": "keystone", "chart": "memcached", "namespace": "victim"}
    assert texts(decide(seen(release, deleting=True))) == [f"finalizer off HelmBundle {NAMESPACE}/b"]
    dropped = {"keystone": {"namespace": "victim"}}
    plan = decide(seen({"name": "mc", "chart": "memcached"}, statuses=dropped))
    assert not any("victim" in text for text in texts(plan))


def test_a_dropped_release_is_uninstalled_where_it_was():
    release = {"name": "mc", "chart": "memcached", "namespace": "there"}
    status = decide(seen(release, ANY)).status["releaseStatuses"]
    assert status["mc"]["namespace"] == "there"
    plan = decide(seen({"name": "other", "chart": "memcached"}, ANY, statuses=status))
    assert "helm uninstall there/mc" in texts(plan)
    assert f"helm uninstall {NAMESPACE}/mc" not in texts(plan)
    moved = decide(seen({**release, "namespace": "elsewhere"}, ANY, statuses=status))
    assert texts(moved) == ["helm uninstall there/mc", "helm upgrade --install elsewhere/mc"]


def test_of_a_release_without_a_namespace_it_is_that_of_the_object():
    plan = decide(seen({"name": "other", "chart": "memcached"}, statuses={"mc": {}}))
    assert f"helm uninstall {NAMESPACE}/mc" in texts(plan)


MAY = Settings({}, {"memcached": "digest", "libvirt": "digest", "nova": "digest"}, frozenset({"libvirt", "nova"}))
NOVA = obj(Nova.KIND, "nova")
AGES = Ages(lambda: 10_000.0)
RELEASES = [{"name": "openstack-libvirt", "chart": "libvirt"}, {"name": "openstack-nova", "chart": "nova"}]
RIGHTS = {"pod": {"security_context": {"server": {"container": {"privileged": True}}}}}


class Objects:
    """A reader of these objects."""

    def __init__(self, *objects):
        self.objects = objects

    async def get(self, kind, key):
        return next((each for each in await self.list(kind) if key_of(each) == key), None)

    async def list(self, kind, namespace="", labels=None):
        return [each for each in self.objects if each["kind"] == kind.kind]


def owned_by(owner, name="openstack-nova", releases=RELEASES, **ref):
    refs = [{**owner_reference(owner), **ref}]
    return obj(HelmBundle.KIND, name, {"releases": releases}, finalizers=[FINALIZER], ownerReferences=refs)


async def decided(bundle, *objects, settings=MAY):
    return decide(await observe(settings, AGES, Objects(bundle, *objects), key_of(bundle), 10_000.0))


async def test_a_service_object_may_have_charts_with_rights_on_nodes_installed():
    plan = await decided(owned_by(NOVA), NOVA)
    assert texts(plan) == [f"helm upgrade --install {NAMESPACE}/{each['name']}" for each in RELEASES]


@pytest.mark.parametrize(
    ("bundle", "objects"),
    [
        (obj(HelmBundle.KIND, "openstack-nova", {"releases": RELEASES}), [NOVA]),
        (owned_by(NOVA), []),
        (owned_by(NOVA, uid="another"), [NOVA]),
        (owned_by(NOVA, controller=False), [NOVA]),
        (owned_by(NOVA, apiVersion="example.org/v1"), [NOVA]),
        (owned_by(NOVA, name="mine"), [NOVA]),
        (owned_by(NOVA, releases=[{"name": "mine", "chart": "libvirt"}]), [NOVA]),
        (owned_by(NOVA, releases=[*RELEASES, {"name": "openstack-libvirt", "chart": "nova"}]), [NOVA]),
        (owned_by(obj(Keystone.KIND, "nova")), [NOVA, obj(Keystone.KIND, "nova")]),
        (owned_by({**NOVA, "kind": "Pod"}), [NOVA, {**NOVA, "kind": "Pod"}]),
    ],
)
async def test_the_helm_bundle_of_a_service_object_cannot_be_forged(bundle, objects):
    plan = await decided(bundle, *objects)
    assert not any(text.startswith("helm") for text in texts(plan))
    assert condition(plan).reason == "BlockedNotPermitted"
    assert "only a service object may install it" in condition(plan).message
    plan = await decided(bundle, *objects, settings=replace(MAY, unrestricted=True))
    assert any(isinstance(action, HelmUpgrade) for action in plan.actions)


async def test_values_grant_no_rights_on_nodes():
    release = {"name": "mc", "chart": "memcached", "values": RIGHTS}
    plan = decide(seen(release))
    assert plan.empty and "values.pod.security_context: " in condition(plan).message
    assert errors_of(seen(release).obj, settings=SHIPPED)[0].startswith(
        "spec.releases[0].values.pod.security_context: "
    )
    keystone = obj(Keystone.KIND, "keystone")
    own = [{"name": "openstack-keystone", "chart": "keystone", "values": RIGHTS}]
    allowed = Settings({}, {"keystone": "digest"})
    assert texts(await decided(owned_by(keystone, "openstack-keystone", own), keystone, settings=allowed)) == [
        f"helm upgrade --install {NAMESPACE}/openstack-keystone"
    ]


def test_only_the_operator_edits_a_helm_bundle_with_rights_on_nodes():
    """Admission checks all writers except the operator."""
    bundle = owned_by(NOVA)
    labelled = {**bundle, "metadata": {**bundle["metadata"], "labels": {"a": "b"}}}
    assert errors_of(labelled, bundle, settings=MAY) == []
    edited = {**bundle, "spec": {"releases": [{**RELEASES[0], "values": {"images": {"tags": {"libvirt": "mine"}}}}]}}
    for old in (None, bundle):
        assert errors_of(edited, old, settings=MAY)[0].startswith("spec.releases[0].chart: it has permissions on nodes")


def claimant(name, created, *, had=0, record="", names=("mc",)):
    """A HelmBundle that names releases, with its status of mc, and the record of the release."""
    thing = obj(
        HelmBundle.KIND, name, {"releases": [{"name": each, "chart": "memcached"} for each in names]},
        finalizers=[FINALIZER], creationTimestamp=f"2026-01-01T00:00:0{created}Z",
    )  # fmt: skip
    return {**thing, "status": {"releaseStatuses": {"mc": {"revision": had, "digest": "", "success": False}}}}


def recorded(bundle):
    labels = {"owner": "helm", "name": "mc", "version": "1", "status": "deployed"}
    labels |= {BUNDLE_LABEL: bundle_label((NAMESPACE, bundle))} if bundle else {}
    return {
        "kind": "Secret",
        "metadata": {"name": "sh.helm.release.v1.mc.v1", "namespace": NAMESPACE, "labels": labels},
    }


@pytest.mark.parametrize(
    ("mine", "theirs", "record"),
    [
        (claimant("b", 2), claimant("a", 1), []),
        (claimant("b", 1), claimant("a", 2, had=1), []),
        (claimant("b", 1, had=1), claimant("a", 2), [recorded("a")]),
        (claimant("b", 2), claimant("a", 1), [recorded("")]),
        (claimant("b", 2), claimant("a", 1), [recorded("c")]),
        (claimant("b", 1), claimant("a", 2, had=1, names=("other",)), []),
    ],
)
async def test_a_release_belongs_to_one_helm_bundle(mine, theirs, record):
    plan = await decided(mine, theirs, *record)
    assert texts(plan) == []
    assert condition(plan).reason == "BlockedTaken"
    said = f"Release mc belongs to HelmBundle {NAMESPACE}/a; choose another name, or delete that object"
    assert condition(plan).message == said
    told = plan.status["releaseStatuses"]["mc"]
    assert (told["success"], told["digest"], told["revision"]) == (False, "", 0), "the other one's success is not ours"
    assert plan.requeue == RETRY_FAILED, "the other may go without an event for this one"
    leaving = {**mine, "metadata": {**mine["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert texts(await decided(leaving, theirs, *record)) == [f"finalizer off HelmBundle {NAMESPACE}/b"]
    elsewhere = {**mine, "spec": {"releases": [{"name": "other", "chart": "memcached"}]}}
    assert "helm uninstall openstack/mc" not in texts(
        await decided({**elsewhere, "status": mine["status"]}, theirs, *record)
    )
    assert any("openstack/mc" in text for text in texts(await decided(theirs, mine, *record)))


@pytest.mark.parametrize("by", ["spec", "status"])
async def test_a_release_of_another_namespace_cannot_be_claimed(by):
    """Not even by a HelmBundle that got past admission."""
    there = {"name": "mc", "chart": "memcached", "namespace": NAMESPACE}
    rival = obj(HelmBundle.KIND, "evil", {"releases": [there]}, creationTimestamp="2025-01-01T00:00:00Z")
    rival["metadata"]["namespace"] = "tenant"
    if by == "status":
        rival["spec"] = {"releases": [{"name": "other", "chart": "memcached"}]}
        rival["status"] = {"releaseStatuses": {"mc": {"namespace": NAMESPACE, "revision": 1}}}
    mine = claimant("a", 1)
    assert texts(await decided(mine, rival)) == ["helm upgrade --install openstack/mc"]
    (watch,) = (w for w in controllers(SHIPPED, AGES)[0].watches if w.kind == HelmBundle.KIND)
    assert list(watch.keys(rival, lambda kind, namespace: [mine, rival])) == []
    plan = await decided(mine, rival, settings=replace(MAY, unrestricted=True))
    assert condition(plan).reason == "BlockedTaken"


async def test_a_waiting_bundle_gets_the_release_when_the_other_is_deleted():
    assert texts(await decided(claimant("b", 2), recorded("a"))) == ["helm upgrade --install openstack/mc"]
    (watch,) = (w for w in controllers(SHIPPED, AGES)[0].watches if w.kind == HelmBundle.KIND)
    both = [claimant("a", 1), claimant("b", 2), claimant("c", 3, names=("x",))]
    both[2]["status"] = {}
    assert list(watch.keys(both[0], lambda kind, namespace: both)) == [(NAMESPACE, "b")]


def about_to_go(bundle):
    """The HelmBundle in deletion, and with another release instead of its own."""
    meta = {**bundle["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**bundle, "metadata": meta}, {**bundle, "spec": {"releases": [{"name": "other", "chart": "memcached"}]}}


async def uninstalls(bundle, *objects):
    """Whether the HelmBundle uninstalls mc, each time it may."""
    gone, dropped = [texts(await decided(each, *objects)) for each in about_to_go(bundle)]
    assert gone[-1] == f"finalizer off HelmBundle {NAMESPACE}/b"
    return ["helm uninstall openstack/mc" in each for each in (gone, dropped)]


@pytest.mark.parametrize("chart", ["nova", "memcached"])
@pytest.mark.parametrize("revision", [0, 1])
async def test_only_what_a_helm_bundle_installed_is_uninstalled(chart, revision):
    """A HelmBundle that is not permitted, or that waits, names a release that a user installed with Helm."""
    mine = claimant("b", 1, had=revision)
    mine["spec"] = {"releases": [{"name": "mc", "chart": chart}]}
    assert await uninstalls(mine, recorded("")) == [False, False]
    assert await uninstalls(mine, recorded("c")) == [False, False]
    assert await uninstalls(mine, recorded("b")) == [True, True]
    assert await uninstalls(mine) == [True, True], "the watch may be behind Helm"
    earlier, former = recorded(""), recorded("c")
    for each in (earlier, former):
        each["metadata"]["labels"][DIGEST_LABEL] = "d"
    assert await uninstalls(mine, earlier) == [True, True], "of a version that did not record the HelmBundle"
    assert await uninstalls(mine, former) == [False, False]
    mine["status"]["releaseStatuses"]["mc"]["readyRevision"] = 1
    assert await uninstalls(mine, former) == [True, True], "what a former HelmBundle left is taken over as it is"
    assert await uninstalls(mine, recorded("")) == [False, False]


@pytest.mark.parametrize("state", ["failed", "pending-upgrade"])
async def test_a_failed_upgrade_makes_no_release_of_a_user_ours(state):
    """Its deployed revision is still the one that the user installed."""
    ours = recorded("b")
    ours["metadata"]["name"] = "sh.helm.release.v1.mc.v2"
    ours["metadata"]["labels"] |= {"version": "2", "status": state}
    mine = claimant("b", 1, had=2)
    assert await uninstalls(mine, recorded(""), ours) == [False, False]
    assert await uninstalls(mine, recorded("b"), ours) == [True, True]
    assert await uninstalls(mine, ours) == [True, True], "no revision was ever deployed"


async def test_a_release_is_uninstalled_although_its_status_was_not_written():
    """The operator was killed after Helm. Before, the status named the release, unless it was deleted by hand."""
    gone, _ = about_to_go({**claimant("b", 1), "status": {}})
    assert texts(await decided(gone, recorded("b")))[0] == "helm uninstall openstack/mc"


async def test_a_release_that_was_adopted_by_its_name_is_uninstalled():
    cluster = MemoryCluster()
    helm = MemoryHelm(cluster, FrozenClock())
    mine = claimant("b", 1)
    helm.record((NAMESPACE, "mc"), 1, "deployed")

    (upgrade,) = (await decided(mine, *await cluster.list(SECRET))).actions
    assert await uninstalls(mine, *await cluster.list(SECRET)) == [False, False]
    await helm.upgrade(upgrade)
    assert await uninstalls(mine, *await cluster.list(SECRET)) == [True, True]


async def test_who_installed_a_release_is_read_without_a_cache():
    """The cache has no records of users, and may be behind Helm."""
    gone, _ = about_to_go(claimant("b", 1))
    for record, verb in ((recorded(""), "finalizer off"), (recorded("b"), "helm uninstall")):
        what = await observe(MAY, AGES, Objects(gone), key_of(gone), 10_000.0, Objects(record))
        assert texts(decide(what))[0].startswith(verb)


def test_admission_checks_helm_bundles():
    assert HelmBundle in ADMITTED


@pytest.mark.parametrize("chart", ["--post-renderer=/tmp/x", "-f", "", "a b"])
def test_no_chart_is_an_option_of_helm(chart, tmp_path):
    with pytest.raises(ValidationError):
        HelmBundleSpec.model_validate({"releases": [{"name": "x", "chart": chart}]})
    with closing(HelmCli(tmp_path)) as helm, pytest.raises(TerminalError):
        helm.chart(chart)
