"""Objects from the watches, and our own writes in between."""

import pytest

from stackwright.api.kinds import CONFIGMAP, DAEMONSET, DEPLOYMENT, NODE, POD, SECRET
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Key
from stackwright.runtime.cluster import cache
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough, slim
from stackwright.runtime.memory import MemoryCluster

KEY: Key = ("n", "x")


def obj(version=1, uid="u", **more):
    meta = {"namespace": "n", "name": "x", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**meta, **more.pop("meta", {})}, **more}


def store(*kinds):
    made = Store()
    for kind in kinds:
        made.watch(kind)
    return made


def test_a_repeated_or_late_event_is_ignored():
    made = store(CONFIGMAP)
    assert made.put(CONFIGMAP, obj(5, data={"a": "5"}))
    assert not made.put(CONFIGMAP, obj(5))
    assert not made.put(CONFIGMAP, obj(4, data={"a": "4"}))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "5"}
    assert made.put(CONFIGMAP, obj(6))


def test_an_own_write_is_cached_at_once_and_wakes_others_with_its_watch_event():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    made.keep(CONFIGMAP, obj(6, data={"a": "6"}))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "6"}
    assert made.put(CONFIGMAP, obj(6, data={"a": "6"})), "other controllers must hear of it"
    assert not made.put(CONFIGMAP, obj(6))


def test_an_own_write_wakes_others_even_if_our_next_write_ended_the_object():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    made.keep(CONFIGMAP, obj(6))
    made.removed(CONFIGMAP, obj(7))
    assert made.put(CONFIGMAP, obj(6))
    assert made.get(CONFIGMAP, KEY) is None


def test_a_late_event_is_news_but_does_not_hide_our_own_write():
    made = store(CONFIGMAP)
    made.keep(CONFIGMAP, obj(6, data={"a": "6"}))
    assert made.put(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "6"}


def test_a_deletion_event_does_not_remove_the_next_object_of_the_name():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5, "old"))
    made.keep(CONFIGMAP, obj(8, "new"))
    made.drop(CONFIGMAP, obj(7, "old"))
    assert made.get(CONFIGMAP, KEY)["metadata"]["uid"] == "new"
    assert made.put(CONFIGMAP, obj(8, "new"))
    made.drop(CONFIGMAP, obj(7, "old"))
    assert not made.put(CONFIGMAP, obj(8, "new")), "it was reported before"
    made.drop(CONFIGMAP, obj(9, "new"))
    assert made.get(CONFIGMAP, KEY) is None
    assert made.put(CONFIGMAP, obj(10, "newest"))


def test_unwatched_kinds_are_read_from_the_api():
    made = store(CONFIGMAP)
    assert made.put(POD, obj())
    made.keep(POD, obj())
    assert made.get(POD, KEY) is None
    assert not made.holds(POD)


def test_objects_are_listed_by_namespace_and_labels():
    made = store(NODE, CONFIGMAP)
    for number, namespace in enumerate(("n", "n", "m")):
        meta = {"name": f"x{number}", "namespace": namespace, "labels": {"app": str(number % 2)}}
        made.put(CONFIGMAP, {"metadata": {**meta, "resourceVersion": "1"}})
    made.put(NODE, {"metadata": {"name": "node", "resourceVersion": "1"}})
    assert len(made.list(CONFIGMAP)) == 3
    assert [o["metadata"]["name"] for o in made.list(CONFIGMAP, "n")] == ["x0", "x1"]
    assert [o["metadata"]["name"] for o in made.list(CONFIGMAP, "", {"app": "0"})] == ["x0", "x2"]
    assert made.list(NODE)[0]["metadata"]["name"] == "node"
    assert made.keys(CONFIGMAP) == {("n", "x0"), ("n", "x1"), ("m", "x2")}


def test_objects_are_reduced_without_values_of_secrets_and_the_original_is_unchanged():
    secret = obj(data={"password": "c2VjcmV0"}, meta={"managedFields": [1], "annotations": {"a": "b"}})
    small = slim(SECRET, secret)
    assert small["data"] == {"password": ""}
    assert "managedFields" not in small["metadata"]
    assert small["metadata"]["annotations"] == {"a": "b"}
    assert secret["data"] == {"password": "c2VjcmV0"}
    assert slim(POD, obj(spec={"nodeName": "a", "containers": []}))["spec"] == {"nodeName": "a"}
    assert slim(DEPLOYMENT, obj(spec={"replicas": 1, "template": {}, "selector": {}}))["spec"] == {
        "replicas": 1, "selector": {}
    }  # fmt: skip


def test_the_pods_of_our_own_workloads_are_kept_because_they_are_compared():
    spec = {"selector": {}, "template": {"spec": {"volumes": []}}}
    ours = obj(spec=spec, meta={"labels": {"app.kubernetes.io/managed-by": "stackwright"}})
    helms = obj(spec=spec, meta={"labels": {"app.kubernetes.io/managed-by": "Helm"}})
    assert slim(DAEMONSET, ours)["spec"] == spec
    assert slim(DAEMONSET, helms)["spec"] == {"selector": {}}


async def test_watched_kinds_are_read_from_the_store_and_others_from_the_api():
    cluster = MemoryCluster()
    cluster.put(DEPLOYMENT, {"metadata": {"namespace": "n", "name": "x"}})
    cluster.put(POD, {"metadata": {"namespace": "n", "name": "x"}})
    reader = CachedReader(store(DEPLOYMENT), cluster)
    assert await reader.get(DEPLOYMENT, KEY) is None
    assert await reader.list(DEPLOYMENT) == []
    assert (await reader.get(POD, KEY))["metadata"]["name"] == "x"
    assert len(await reader.list(POD)) == 1
    assert cluster.reads == {"get Pod": 1, "list Pod": 1}


async def test_a_secret_without_our_label_is_read_from_the_api():
    cluster = MemoryCluster()
    cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "x"}})
    reader = CachedReader(store(SECRET), cluster)
    assert (await reader.get(SECRET, KEY))["metadata"]["name"] == "x"


async def test_writes_reach_the_api_and_their_responses_are_cached():
    cluster, made = MemoryCluster(), store(CONFIGMAP)
    through = WriteThrough(made, cluster)
    meta = {"namespace": "n", "name": "x", "labels": dict(MANAGED)}
    await through.apply(CONFIGMAP, {"metadata": meta, "data": {"a": "b"}}, "m")
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "b"}
    await through.patch(CONFIGMAP, KEY, {"data": {"a": "c"}, "metadata": {"finalizers": ["example.org/x"]}})
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "c"}
    await through.delete(CONFIGMAP, KEY)
    await through.patch(CONFIGMAP, KEY, {"metadata": {"finalizers": []}})
    assert made.get(CONFIGMAP, KEY) is None, "the answer to the last finalizer's removal is the end of the object"


async def test_the_response_of_a_write_is_not_cached_without_a_watch():
    cluster, made = MemoryCluster(), store(CONFIGMAP)
    through = WriteThrough(made, cluster)
    meta = {"namespace": "n", "name": "x"}
    await through.apply(CONFIGMAP, {"metadata": meta, "data": {"a": "b"}}, "m")
    assert made.get(CONFIGMAP, KEY) is None
    await through.patch(CONFIGMAP, KEY, {"metadata": {"labels": dict(MANAGED)}})
    assert made.get(CONFIGMAP, KEY)
    await through.patch(CONFIGMAP, KEY, {"metadata": {"labels": None}})
    assert made.get(CONFIGMAP, KEY) is None


def test_a_list_that_shows_an_older_version_than_was_known_before_is_believed():
    """Etcd was restored from a snapshot: the cached objects are from a state that no longer exists."""
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(9000, data={"a": "lost"}))
    known = made.known(CONFIGMAP)
    made.overrule(known, obj(5000, data={"a": "restored"}))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "restored"}, "at no time is it missing"
    assert made.put(CONFIGMAP, obj(5000, data={"a": "restored"})), "it is news"
    assert not made.put(CONFIGMAP, obj(5000, data={"a": "restored"}))
    assert made.put(CONFIGMAP, obj(5001, data={"a": "later"}))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "later"}


def test_our_own_write_that_was_lost_with_the_rest_is_news():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5000))
    made.keep(CONFIGMAP, obj(9000, data={"a": "lost"}))
    made.overrule(made.known(CONFIGMAP), obj(5000))
    assert "data" not in made.get(CONFIGMAP, KEY)
    assert made.put(CONFIGMAP, obj(5000))


def test_events_since_the_start_of_a_list_are_newer_than_the_list():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    known = made.known(CONFIGMAP)
    made.keep(CONFIGMAP, obj(6, data={"a": "written meanwhile"}))
    made.overrule(known, obj(5))
    assert made.get(CONFIGMAP, KEY)["data"] == {"a": "written meanwhile"}
    made.put(CONFIGMAP, obj(7))
    made.overrule(known, obj(5))
    assert not made.put(CONFIGMAP, obj(5)) and made.reported(CONFIGMAP, KEY)["metadata"]["resourceVersion"] == "7"


def test_a_list_does_not_restore_objects_deleted_since_its_start():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    known = made.known(CONFIGMAP)
    made.drop(CONFIGMAP, obj(6))
    made.overrule(known, obj(5))
    made.keep(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY) is None


@pytest.mark.parametrize("listed", [5, 4])
def test_a_list_of_a_restored_etcd_does_not_change_what_came_since_its_start(listed):
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    known = made.known(CONFIGMAP)
    made.put(CONFIGMAP, obj(6))
    made.overrule(known, obj(listed))
    assert not made.put(CONFIGMAP, obj(6)), "it was reported before"
    made.drop(CONFIGMAP, obj(6))
    made.overrule(known, obj(listed))
    assert made.get(CONFIGMAP, KEY) is None


def test_a_late_answer_does_not_restore_an_object_of_the_version_that_was_deleted():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    made.drop(CONFIGMAP, obj(5))
    made.keep(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY) is None


def test_an_object_that_our_own_write_ended_stays_away_when_its_absence_is_noted_later():
    """The absence is noted with the version that a watch reported."""
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    made.removed(CONFIGMAP, obj(9))
    made.drop(CONFIGMAP, obj(5))
    made.keep(CONFIGMAP, obj(8))
    assert made.get(CONFIGMAP, KEY) is None


def test_the_oldest_deletions_are_forgotten(monkeypatch):
    monkeypatch.setattr(cache, "REMEMBERED", 2)
    made = store(CONFIGMAP)
    for uid in ("a", "b", "c"):
        made.put(CONFIGMAP, obj(5, uid))
        made.drop(CONFIGMAP, obj(6, uid))
    for uid in ("b", "c"):
        made.keep(CONFIGMAP, obj(5, uid))
        assert made.get(CONFIGMAP, KEY) is None
    made.keep(CONFIGMAP, obj(5, "a"))
    assert made.get(CONFIGMAP, KEY)


def test_a_deleted_object_returns_with_a_later_list():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    made.drop(CONFIGMAP, obj(9000))
    made.overrule(made.known(CONFIGMAP), obj(5))
    assert made.put(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY)


def test_the_object_before_is_back_under_its_name():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5, "old"))
    made.drop(CONFIGMAP, obj(8000, "old"))
    made.put(CONFIGMAP, obj(9000, "new"))
    made.overrule(made.known(CONFIGMAP), obj(5, "old"))
    assert made.put(CONFIGMAP, obj(5, "old"))
    assert made.get(CONFIGMAP, KEY)["metadata"]["uid"] == "old"


@pytest.mark.parametrize(("told", "uid"), [(8, "u"), (5, "u"), (8, "other")])
def test_an_object_that_our_own_write_ended_is_back_after_a_restore(told, uid):
    """No watch reported its end before etcd was restored."""
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(told, uid))
    made.removed(CONFIGMAP, obj(9, uid))
    made.overrule(made.known(CONFIGMAP), obj(5))
    assert made.put(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY)
    assert not made.put(CONFIGMAP, obj(5))


def test_a_list_does_not_restore_an_object_that_our_own_write_ended_since_its_start():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5))
    known = made.known(CONFIGMAP)
    made.removed(CONFIGMAP, obj(6))
    made.overrule(known, obj(5))
    assert not made.put(CONFIGMAP, obj(5))
    assert made.get(CONFIGMAP, KEY) is None
    assert made.known_keys(CONFIGMAP) == {KEY}, "its end is still to be reported"


def test_an_object_created_after_the_restore_is_not_confused_with_the_lost_one():
    """The list lacks the object, and the API confirms its deletion; the next one of its name has a lower version."""
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(9000, "lost"))
    made.drop(CONFIGMAP, obj(9000, "lost"))
    made.keep(CONFIGMAP, obj(5001, "new"))
    assert made.get(CONFIGMAP, KEY)["metadata"]["uid"] == "new"
    made.keep(CONFIGMAP, obj(8999, "lost"))
    made.drop(CONFIGMAP, obj(5002, "new"))
    made.keep(CONFIGMAP, obj(8999, "lost"))
    assert made.get(CONFIGMAP, KEY) is None, "a late answer about what was deleted"


def test_objects_with_different_uids_and_equal_versions_differ():
    made = store(CONFIGMAP)
    made.put(CONFIGMAP, obj(5001, "lost"))
    made.overrule(made.known(CONFIGMAP), obj(5001, "new"))
    assert made.put(CONFIGMAP, obj(5001, "new"))
    assert made.get(CONFIGMAP, KEY)["metadata"]["uid"] == "new"


def test_a_list_affects_only_its_kind_and_watched_objects():
    made = store(CONFIGMAP, SECRET)
    made.put(SECRET, obj(9000))
    made.overrule(made.known(CONFIGMAP), obj(5))
    assert made.get(SECRET, KEY)["metadata"]["resourceVersion"] == "9000"
    made.overrule(made.known(POD), obj(5))
    assert made.get(POD, KEY) is None
