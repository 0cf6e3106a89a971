"""The lifecycle of Helm releases, from Helm's records and the state of workloads."""

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackwright.admission.validate import errors_of
from stackwright.api.crd import crd
from stackwright.api.kinds import SECRET
from stackwright.api.services.helmbundle import RELEASES, HelmBundle
from stackwright.controllers.helmbundle.decide import decide
from stackwright.controllers.helmbundle.observe import Observed, observe
from stackwright.controllers.helmbundle.rollback import UNKNOWN
from stackwright.controllers.helmbundle.step import RETRY_FAILED, SETTLE, release_digest
from stackwright.core.ages import Ages, Progress
from stackwright.core.helm.records import manifest_digest, record_name
from stackwright.core.objects import FINALIZER
from stackwright.core.plan import HelmRollback, HelmUpgrade
from stackwright.core.ports import Release
from stackwright.core.settings import Settings
from stackwright.runtime.memory import FrozenClock
from stackwright.runtime.memory.cluster import MemoryCluster
from stackwright.runtime.memory.foreign import MemoryHelm
from tests.unit.controllers.builders import NAMESPACE, condition, makes_nothing, obj

SETTINGS = Settings({}, {"memcached": "chart-digest"})
WANTED = {"name": "mc", "chart": "memcached", "values": {"a": 1}, "timeout": 600}
TARGET = release_digest(SETTINGS, WANTED)
NOW = 10_000.0
INSTALLED = "5e" * 32  # digest of what Helm installed
PENDING = {
    "kind": "StatefulSet",
    "metadata": {"name": "w", "generation": 1},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 1},
}
UP = {**PENDING, "status": {"observedGeneration": 1, "readyReplicas": 1, "currentRevision": "a", "updateRevision": "a"}}


def bundle(status=None, **more):
    thing = obj(HelmBundle.KIND, "b", {"releases": [WANTED]}, finalizers=[FINALIZER], **more)
    return {**thing, "status": {"releaseStatuses": {"mc": status or {}}}}


def record(state="deployed", digest=TARGET, age=50.0, revision=3):
    return Release("mc", revision, NAMESPACE, state, digest, NOW - age, 2, f"sh.helm.release.v1.mc.v{revision}")


def away(age):
    """A rollback that failed because something was away."""
    return replace(record("failed", "old", age=age), cause="etcdserver: request timed out")


def seen(release=None, workloads=(), status=None, **more):
    records = {"mc": release} if release else {}
    if status and status.get("readyRevision"):
        status = {"manifests": {str(status["readyRevision"]): INSTALLED}, **status}
    ages = {name: NOW - each.updated for name, each in records.items()}
    progress = {name: Progress({}, age) for name, age in ages.items()}
    return Observed(SETTINGS, bundle(status, **more), records, ages, {"mc": tuple(workloads)}, progress=progress)


@pytest.mark.parametrize(
    ("what", "actions", "reason"),
    [
        (seen(), ["helm upgrade --install openstack/mc"], "Installing"),
        (seen(record()), [], "Ready"),
        (seen(record(), [UP]), [], "Ready"),
        (seen(record(age=SETTLE / 2), [UP]), [], "Installing"),
        (seen(record(), [PENDING]), [], "NotReady"),
        (seen(record(digest="old")), ["helm upgrade --install openstack/mc"], "Upgrading"),
        (seen(record("failed", age=10)), [], "BlockedFailed"),
        (seen(record("failed", age=RETRY_FAILED)), ["helm upgrade --install openstack/mc"], "Upgrading"),
        (seen(record("failed", "old", age=10)), ["helm upgrade --install openstack/mc"], "Upgrading"),
        (
            seen(record("pending-upgrade")),
            ["delete Secret openstack/sh.helm.release.v1.mc.v3", "helm upgrade --install openstack/mc"],
            "Upgrading",
        ),
        (
            seen(record("uninstalling")),
            ["delete Secret openstack/sh.helm.release.v1.mc.v3", "helm upgrade --install openstack/mc"],
            "Upgrading",
        ),
        (seen(record(age=601), [PENDING]), [], "BlockedNotReady"),
        (
            seen(record(age=601), [PENDING], {"readyRevision": 2, "failedDigest": TARGET}),
            ["helm rollback openstack/mc to revision 2"],
            "RollingBack",
        ),
        (seen(record(age=601), [PENDING], {"readyRevision": 2}), [], "RollingBack"),
        (seen(record("failed", "old"), [PENDING], {"failedDigest": TARGET}), [], "BlockedRollbackFailed"),
        (seen(away(10), [PENDING], {"failedDigest": TARGET, "readyRevision": 2}), [], "RollingBack"),
        (
            seen(away(RETRY_FAILED), [PENDING], {"failedDigest": TARGET, "readyRevision": 2}),
            ["helm rollback openstack/mc to revision 2"],
            "RollingBack",
        ),
        (
            seen(record("pending-rollback", "old", RETRY_FAILED), [UP], {"readyRevision": 1, "failedDigest": TARGET}),
            [
                "delete Secret openstack/sh.helm.release.v1.mc.v3",
                "helm rollback openstack/mc to revision 1",
            ],
            "RollingBack",
        ),
        (
            seen(record("pending-rollback", "old", 10), [UP], {"readyRevision": 1, "failedDigest": TARGET}),
            [],
            "RollingBack",
        ),
        (seen(record(age=601), [PENDING], {"readyRevision": 3}), [], "NotReady"),
        (seen(record(age=601), [PENDING], {"readyRevision": 3, "success": False}), [], "NotReady"),
        (seen(record(digest="old"), [UP], {"failedDigest": TARGET, "message": "m"}), [], "BlockedRolledBack"),
        (seen(record(), [UP], {"failedDigest": TARGET}), [], "Ready"),
        (
            seen(record(digest="old"), [UP], {"failedDigest": "another"}),
            ["helm upgrade --install openstack/mc"],
            "Upgrading",
        ),
    ],
)
def test_each_state_of_a_release_has_its_step(what, actions, reason):
    plan = decide(what)
    assert [str(action) for action in plan.actions] == actions
    assert condition(plan).reason == reason


def test_the_status_names_a_release_before_helm_runs_for_it():
    """The policy of the chart protects the records of releases that the spec or the status names."""
    for release in (None, record(digest="old"), record("failed", "old")):
        what = seen(release, [UP])
        first = decide(replace(what, obj={**what.obj, "status": {}}))
        assert [str(action) for action in first.actions] == []
        assert (first.status["releaseStatuses"].keys(), first.requeue) == ({"mc"}, SETTLE)
        assert condition(first).reason in ("Installing", "Upgrading")
        then = decide(replace(what, obj={**what.obj, "status": first.status}))
        assert [str(action) for action in then.actions] == ["helm upgrade --install openstack/mc"]


def test_the_newest_ready_revision_is_remembered_through_all_that_follows():
    ready = decide(seen(record(), [UP])).status["releaseStatuses"]["mc"]
    assert (ready["readyRevision"], ready["success"]) == (3, True)
    later = decide(seen(record(revision=4), [PENDING], ready)).status["releaseStatuses"]["mc"]
    assert (later["readyRevision"], later["success"]) == (3, False)
    upgrading = decide(seen(record(digest="old"), [UP], later)).status["releaseStatuses"]["mc"]
    assert upgrading["readyRevision"] == 3


def test_a_digest_is_written_down_as_failed_before_anything_is_rolled_back():
    first = decide(seen(record(age=601), [PENDING], {"readyRevision": 2}))
    told = first.status["releaseStatuses"]["mc"]
    assert (first.actions, told["failedDigest"], told["waited"]) == ((), TARGET, 600)
    then = decide(seen(record(age=602), [PENDING], told))
    assert [str(action) for action in then.actions] == ["helm rollback openstack/mc to revision 2"]
    assert then.status == first.status


def test_only_what_helm_installed_is_rolled_back_to():
    status = {"readyRevision": 2, "failedDigest": TARGET}
    for release in (record(age=601), away(RETRY_FAILED), record("pending-rollback", "old", RETRY_FAILED)):
        (rollback,) = (a for a in decide(seen(release, [PENDING], status)).actions if isinstance(a, HelmRollback))
        assert (rollback.revision, rollback.manifest) == (2, INSTALLED)
        plan = decide(seen(release, [PENDING], {**status, "manifests": {"1": INSTALLED}}))
        assert plan.empty
        told = plan.status["releaseStatuses"]["mc"]
        assert condition(plan).blocked and condition(plan).message == told["message"]
        assert "what Helm installed as revision 2 is not known" in told["message"]


def test_the_status_has_what_helm_installed_for_the_revisions_that_a_rollback_may_need():
    what = replace(seen(record(), [PENDING], {"readyRevision": 2}), manifests={"mc": {"3": "3d"}})
    status = decide(what).status["releaseStatuses"]["mc"]
    assert status["manifests"] == {"2": INSTALLED, "3": "3d"}
    forged = replace(seen(record(), [UP], status), manifests={"mc": {"3": "other"}})
    ready = decide(forged).status["releaseStatuses"]["mc"]
    assert ready["manifests"] == {"3": "3d"}, "what was written is not replaced"
    installing = decide(seen(None, (), ready)).status["releaseStatuses"]["mc"]
    assert "manifests" not in installing, "a new release begins again at revision 1"


def test_the_digest_of_a_revision_that_was_being_uninstalled_is_dropped_before_helm_runs():
    status = {"revision": 3, "readyRevision": 2, "manifests": {"2": INSTALLED, "3": "3d"}}
    what = seen(record("uninstalling"), [UP], status)
    first = decide(what)
    assert (first.actions, first.status["releaseStatuses"]["mc"]["manifests"]) == ((), {"2": INSTALLED})
    then = decide(replace(what, obj={**what.obj, "status": first.status}))
    assert [str(action) for action in then.actions] == [
        "delete Secret openstack/sh.helm.release.v1.mc.v3",
        "helm upgrade --install openstack/mc",
    ]
    assert then.status["releaseStatuses"]["mc"]["manifests"] == {"2": INSTALLED}


async def test_a_revision_number_that_helm_uses_again_has_the_digest_of_what_it_installed_last():
    """Also if the operator is killed before it reports what it did."""
    cluster = MemoryCluster()
    helm = MemoryHelm(cluster, FrozenClock(NOW))
    key, bundle_key = (NAMESPACE, "mc"), (NAMESPACE, "b")
    cluster.put(
        HelmBundle.KIND, bundle({"revision": 1, "readyRevision": 1, "readyVoters": 1, "manifests": {"1": "old"}})
    )
    helm.record(key, 1, "uninstalling", "old")
    reported = []
    for _ in range(3):
        plan = decide(await observe(SETTINGS, Ages(lambda: NOW, at_first=100.0), cluster, bundle_key, NOW))
        for action in plan.actions:
            if isinstance(action, HelmUpgrade):
                await helm.upgrade(action)
            else:
                cluster.remove(SECRET, (NAMESPACE, record_name("mc", 1)))
        if not plan.actions:
            reported.append(plan.status["releaseStatuses"]["mc"])
            cluster.put(HelmBundle.KIND, {**cluster.peek(HelmBundle.KIND, bundle_key), "status": plan.status})
    installed = manifest_digest(cluster.peek(SECRET, (NAMESPACE, record_name("mc", 1))))
    status = plan.status["releaseStatuses"]["mc"]
    assert status["manifests"] == {"1": installed}
    assert (reported[0]["readyRevision"], reported[0]["readyVoters"]) == (0, 0), "nothing is known of the new one"
    assert "manifests" not in reported[0]


async def test_what_others_installed_is_not_rolled_back_to():
    """A record that was there before the status named the release may be forged, also to look deployed and ready."""
    cluster = MemoryCluster()
    helm = MemoryHelm(cluster, FrozenClock(NOW))
    key, bundle_key = (NAMESPACE, "mc"), (NAMESPACE, "b")
    cluster.put(HelmBundle.KIND, {**bundle(), "status": {}})
    helm.record(key, 1, "deployed", TARGET)

    async def look():
        status = decide(await observe(SETTINGS, Ages(lambda: NOW, at_first=100.0), cluster, bundle_key, NOW)).status
        cluster.put(HelmBundle.KIND, {**cluster.peek(HelmBundle.KIND, bundle_key), "status": status})
        return status["releaseStatuses"]["mc"]

    for _ in range(2):
        assert (await look())["manifests"] == {"1": ""}
    helm.record(key, 2, "deployed", TARGET)
    installed = manifest_digest(cluster.peek(SECRET, (NAMESPACE, record_name("mc", 2))))
    assert (await look())["manifests"] == {"2": installed}
    helm.record(key, 2, "deployed", "forged")
    assert (await look())["manifests"] == {"2": installed}


async def test_digests_are_of_deployed_records_of_its_own_releases_read_without_a_cache():
    class WithoutContent(MemoryCluster):
        """A cache, which has no content of Secrets."""

        async def get(self, kind, key):
            return None if kind == SECRET else await super().get(kind, key)

    cached, direct, key = WithoutContent(), MemoryCluster(), (NAMESPACE, "b")
    for cluster in (cached, direct):
        cluster.put(HelmBundle.KIND, bundle())
        helm = MemoryHelm(cluster, FrozenClock(NOW))
        helm.record((NAMESPACE, "mc"), 2, "deployed", TARGET)
    installed = manifest_digest(direct.peek(SECRET, (NAMESPACE, record_name("mc", 2))))

    async def manifests():
        return (await observe(SETTINGS, Ages(lambda: NOW, at_first=100.0), cached, key, NOW, direct)).manifests

    assert await manifests() == {"mc": {"2": installed}}
    for state in ("pending-upgrade", "failed"):
        MemoryHelm(cached, FrozenClock(NOW)).record((NAMESPACE, "mc"), 3, state, TARGET)
        MemoryHelm(direct, FrozenClock(NOW)).record((NAMESPACE, "mc"), 3, state, TARGET)
        assert await manifests() == {"mc": {}}, state
    MemoryHelm(cached, FrozenClock(NOW)).record((NAMESPACE, "mc"), 3, "deployed", TARGET)
    assert set((await manifests())["mc"]) == {"3"}
    older = obj(HelmBundle.KIND, "a", {"releases": [WANTED]}, creationTimestamp="2020-01-01T00:00:00Z")
    cached.put(HelmBundle.KIND, {**older, "status": {"releaseStatuses": {"mc": {"revision": 3}}}})
    assert await manifests() == {}, "the release of another HelmBundle"


async def test_an_older_record_of_others_is_not_trusted_when_the_newest_is_deleted():
    """Users may delete records, also where a policy keeps them from writing any."""
    cluster = MemoryCluster()
    helm = MemoryHelm(cluster, FrozenClock(NOW))
    key, bundle_key = (NAMESPACE, "mc"), (NAMESPACE, "b")
    cluster.put(HelmBundle.KIND, {**bundle(), "status": {}})
    for revision in (1, 5):
        helm.record(key, revision, "deployed", TARGET)
    for _ in range(2):
        what = await observe(SETTINGS, Ages(lambda: NOW, at_first=100.0), cluster, bundle_key, NOW)
        status = decide(what).status
        cluster.put(HelmBundle.KIND, {**cluster.peek(HelmBundle.KIND, bundle_key), "status": status})
        cluster.remove(SECRET, (NAMESPACE, record_name("mc", 5)))
    assert status["releaseStatuses"]["mc"]["revision"] == 1
    assert set(status["releaseStatuses"]["mc"]["manifests"].values()) == {""}


async def test_an_upgrade_that_follows_an_upgrade_of_the_operator_can_be_rolled_back():
    """The status of an earlier version has no digests, and the first ones are not written if the upgrade fails."""
    cluster = MemoryCluster()
    helm = MemoryHelm(cluster, FrozenClock(NOW))
    key, bundle_key = (NAMESPACE, "mc"), (NAMESPACE, "b")
    helm.record(key, 1, "superseded", "old")
    installed = manifest_digest(cluster.peek(SECRET, (NAMESPACE, record_name("mc", 1))))
    helm.record(key, 2, "failed", TARGET)
    cluster.put(HelmBundle.KIND, bundle({"revision": 1, "readyRevision": 1, "success": True, "digest": "old"}))
    what = await observe(SETTINGS, Ages(lambda: NOW), cluster, bundle_key, NOW)
    assert decide(what).status["releaseStatuses"]["mc"]["manifests"] == {"1": installed}


def test_a_first_revision_that_is_too_late_is_no_success_and_nowhere_to_roll_back_to():
    plan = decide(seen(record(age=601), [PENDING]))
    told = plan.status["releaseStatuses"]["mc"]
    assert (told["success"], told["readyRevision"], told["failedDigest"]) == (False, 0, "")
    assert told["message"].startswith("Release mc is not ready and made no progress for 600 s: ")
    assert condition(plan).message == told["message"]
    again = decide(seen(record(age=601, revision=4), [PENDING], told))
    assert again.empty and condition(again).reason == "BlockedNotReady"


def test_a_failure_is_reported_with_helms_cause_or_the_previous_report():
    failed = record("failed", age=10)
    for release, before, message in (
        (replace(failed, cause="no space left"), {"message": "m"}, "Release mc failed: no space left"),
        (failed, {"message": "Release mc failed: forbidden"}, "Release mc failed: forbidden"),
        (failed, {}, "Release mc failed"),
    ):
        plan = decide(seen(release, (), before))
        told = plan.status["releaseStatuses"]["mc"]
        assert (condition(plan).message, told["message"], told["success"]) == (message, message, False)


def test_a_restored_revision_becomes_the_next_rollback_target_when_ready():
    before = {"readyRevision": 1, "failedDigest": TARGET, "rollbackRevision": 1, "rollbackCause": "m"}
    for workload, age, ready in ((PENDING, 50, 1), (UP, SETTLE / 2, 1), (UP, 50, 3)):
        status = decide(seen(record(digest="old", age=age), [workload], before)).status["releaseStatuses"]["mc"]
        assert (status["readyRevision"], status["success"]) == (ready, False)
        assert status["message"] == "m; rolled back to revision 1"


def test_the_cause_of_a_failed_rollback_is_reported_once():
    release = replace(record("failed", "old"), cause="forbidden, at 2026-01-02 03:04:05")
    status = {"readyRevision": 1, "failedDigest": TARGET, "rollbackRevision": 1, "rollbackCause": "m"}
    for _ in range(2):
        status = decide(seen(release, [UP], status)).status["releaseStatuses"]["mc"]
        assert status["message"].startswith("m; rolling back to revision 1 failed: forbidden")
        assert status["message"].count("failed") == 1
        assert (status["readyRevision"], status["failedDigest"]) == (1, TARGET)


def test_a_rollback_is_described_from_the_facts_of_the_status_and_never_from_its_message():
    cause = "m; rolling back to revision 9 failed: forbidden"
    status = {"readyRevision": 1, "failedDigest": TARGET, "rollbackRevision": 1, "rollbackCause": cause}
    for release, end in (
        (replace(record("failed", "old"), cause="forbidden"), "rolling back to revision 1 failed: forbidden"),
        (record("pending-rollback", "old", 10), "rolling back to revision 1"),
        (record(digest="old"), "rolled back to revision 1"),
        (record(digest="old"), "rolled back to revision 1"),
    ):
        plan = decide(seen(release, [UP], status))
        status = plan.status["releaseStatuses"]["mc"]
        assert condition(plan).message == status["message"] == f"{cause}; {end}"
        assert (status["rollbackRevision"], status["rollbackCause"]) == (1, cause)
    assert status["readyRevision"] == 3


def test_a_rollback_without_a_recorded_revision_was_to_the_ready_one():
    status = {"readyRevision": 1, "failedDigest": TARGET, "message": "m"}
    for _ in range(2):
        status = decide(seen(replace(record("failed", "old"), cause="forbidden"), [UP], status)).status[
            "releaseStatuses"
        ]["mc"]
        assert status["message"] == f"{UNKNOWN}; rolling back to revision 1 failed: forbidden"


def test_a_release_with_remaining_time_is_reconciled_at_its_timeout():
    assert decide(seen(record(age=590), [PENDING])).requeue == 10
    assert decide(seen(record(age=100), [PENDING], {"readyRevision": 3})).requeue is None
    assert decide(seen(record("failed", age=10))).requeue == RETRY_FAILED - 10


def test_the_release_that_is_due_first_sets_the_next_reconcile():
    what = seen(record("failed", age=10))
    what.obj["spec"] = {"releases": [WANTED, {**WANTED, "name": "db"}]}
    what.records["db"] = replace(record(age=SETTLE / 2), name="db")
    what.ages["db"] = SETTLE / 2
    what.workloads["db"] = ()
    assert decide(what).requeue == SETTLE / 2


def test_the_waited_time_is_recorded_once_a_minute_and_at_the_end():
    told = {}
    for age in (1, 59, 60, 119, 599, 600, 5000):
        plan = decide(seen(record(age=age), [PENDING]))
        told[age] = (plan.status["releaseStatuses"]["mc"]["waited"], plan.requeue)
    assert told == {
        1: (0, 59),
        59: (0, 1),
        60: (60, 60),
        119: (60, 1),
        599: (540, 1),
        600: (600, None),
        5000: (600, None),
    }
    assert decide(seen(record(age=5000), [UP])).status["releaseStatuses"]["mc"]["waited"] == 0


def test_the_digest_changes_with_chart_version_and_values_and_with_nothing_else():
    assert release_digest(SETTINGS, {**WANTED, "timeout": 30}) == TARGET
    changed = [
        release_digest(Settings({}, {"memcached": "new"}), WANTED),
        release_digest(SETTINGS, {**WANTED, "version": "2"}),
        release_digest(SETTINGS, {**WANTED, "values": {"a": 2}}),
    ]
    assert len({TARGET, *changed}) == 4


def test_a_deleted_bundle_uninstalls_all_its_releases_before_it_ends():
    thing = bundle(deleting=True)
    thing["status"]["releaseStatuses"]["dropped"] = {}
    plan = decide(Observed(SETTINGS, thing))
    assert [str(action) for action in plan.actions] == [
        "helm uninstall openstack/mc",
        "helm uninstall openstack/dropped",
        "finalizer off HelmBundle openstack/b",
    ]
    thing["metadata"]["finalizers"] = ["other"]
    assert decide(Observed(SETTINGS, thing)).empty


def test_a_release_that_the_spec_no_longer_names_is_uninstalled_and_forgotten():
    what = seen(record(), [UP])
    what.obj["status"]["releaseStatuses"]["dropped"] = {"digest": "d"}
    plan = decide(what)
    assert [str(action) for action in plan.actions] == ["helm uninstall openstack/dropped"]
    assert plan.status["releaseStatuses"].keys() == {"mc"}


def test_a_moved_release_ignores_its_history_in_the_old_namespace():
    """Revisions and failures of one namespace mean nothing in another."""
    there = {"namespace": "elsewhere", "readyRevision": 2, "failedDigest": TARGET}
    plan = decide(seen(None, (), there))
    assert plan.conditions[0].reason == "Installing"
    assert plan.status["releaseStatuses"]["mc"]["namespace"] == "", "it is named before Helm runs"
    assert plan.empty
    plan = decide(seen(record(age=700), [PENDING], there))
    assert plan.conditions[0].reason == "BlockedNotReady"
    assert plan.status["releaseStatuses"]["mc"]["readyRevision"] == 0


RECORDS = st.none() | st.builds(
    Release,
    st.just("mc"),
    st.integers(1, 2),
    st.just(NAMESPACE),
    st.sampled_from(
        [
            "deployed",
            "deployed",
            "deployed",
            "failed",
            "pending-install",
            "pending-rollback",
            "uninstalling",
            "superseded",
            "unknown",
        ]
    ),
    st.sampled_from([TARGET, TARGET, "old", ""]),
    st.sampled_from([0.0, NOW - 700, NOW - 50, NOW, NOW + 5]),
    st.integers(0, 3),
    st.just("secret"),
)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "failedDigest": st.sampled_from([TARGET, TARGET, "old", ""]),
        "readyRevision": st.integers(0, 2),
        "success": st.booleans(),
        "message": st.just("m"),
        "rollbackRevision": st.integers(0, 2),
        "rollbackCause": st.just("c"),
        "revision": st.integers(0, 5),
    },
)


@example(record(age=700), {"readyRevision": 3}, [PENDING], False)
@given(RECORDS, STATUSES, st.lists(st.sampled_from([UP, PENDING]), max_size=2), st.booleans())
def test_at_most_one_helm_runs_per_release_and_a_deleted_bundle_installs_nothing(release, status, workloads, deleting):
    plan = decide(seen(release, workloads, status, deleting=deleting))
    helm = [action for action in plan.actions if isinstance(action, HelmUpgrade | HelmRollback)]
    assert len(helm) <= 1
    assert not deleting or makes_nothing(plan)
    if release and release.state == "deployed" and release.digest == TARGET:
        assert not [action for action in helm if isinstance(action, HelmUpgrade)], (
            "what is deployed is not deployed again"
        )
    if release and release.revision == status.get("readyRevision"):
        assert not [action for action in helm if isinstance(action, HelmRollback)], "what was ready is not rolled back"


def test_a_chart_gets_only_values_that_were_built_for_it():
    old = seen(record(digest="old"))
    for digest, actions in (("older", []), ("chart-digest", ["helm upgrade --install openstack/mc"])):
        old.obj["spec"]["releases"] = [{**WANTED, "chartDigest": digest}]
        plan = decide(old)
        assert [str(action) for action in plan.actions] == actions
    old.obj["spec"]["releases"] = [{**WANTED, "chartDigest": "older"}]
    said = decide(old).conditions[0].message
    assert said == "Waiting for the service object to write values for this version of the chart memcached"


def test_the_time_of_a_decision_is_linear_in_the_releases():
    """Admission bounds them; what got past it holds nothing up."""
    many = 4000
    releases = [{"name": f"a{number}", "chart": "memcached"} for number in range(many)]
    thing = obj(HelmBundle.KIND, "b", {"releases": releases}, finalizers=[FINALIZER])
    told = decide(Observed(SETTINGS, thing)).status
    began = time.process_time()
    plan = decide(Observed(SETTINGS, {**thing, "status": told}))
    assert len(plan.actions) == many
    assert time.process_time() - began < 2, "seconds; it was eight"


def test_the_number_of_releases_of_a_helm_bundle_is_bounded():
    def errors(many):
        return errors_of(
            obj(HelmBundle.KIND, "b", {"releases": [{"name": f"a{n}", "chart": "memcached"} for n in range(many)]})
        )

    assert errors(RELEASES) == []
    assert errors(RELEASES + 1) == [f"spec.releases: must have at most {RELEASES} entries"]
    releases = crd(HelmBundle)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert releases["releases"]["maxItems"] == RELEASES


def test_a_release_that_moves_waits_without_requeue_while_another_one_holds_the_bundle():
    """Its status stays that of the former namespace, so its next step would be the same."""
    moved, mariadb = {**WANTED, "namespace": "elsewhere"}, {**WANTED, "name": "db", "chart": "mariadb"}
    mariadb["values"] = {"pod": {"replicas": {"server": 1}}}
    settings = replace(SETTINGS, charts={**SETTINGS.charts, "mariadb": "d"}, unrestricted=True)
    servers = {**UP, "metadata": {"name": "w", "labels": {"component": "server"}}, "spec": {"replicas": 3}}
    thing = {**bundle({"revision": 1}), "spec": {"releases": [moved, mariadb]}}
    plan = decide(Observed(settings, thing, workloads={"mc": (), "db": (servers,)}))
    assert condition(plan).reason == "BlockedWouldLoseMajority"
    assert (plan.actions, plan.requeue, condition(plan, "Mc").reason) == ((), None, "Waiting")
