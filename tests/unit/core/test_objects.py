"""Objects of ours, and whether the cluster has them as wanted."""

from stackwright.api.kinds import CONFIGMAP
from stackwright.core.objects import (
    FINALIZER,
    completed,
    covers,
    ensure,
    has_finalizer,
    is_deleting,
    key_of,
    label,
    owned,
    owner_label,
)

OWNER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "o", "namespace": "n", "uid": "u"}}


def wanted(**spec):
    return owned(CONFIGMAP, ("n", "x"), OWNER, spec or {"a": 1}, {"extra": "yes"})


def test_an_object_of_ours_names_its_owner_and_carries_our_labels():
    obj = wanted()
    assert key_of(obj) == ("n", "x")
    assert obj["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert label(obj, "app.kubernetes.io/managed-by") == "stackwright"
    assert label(obj, "stackwright.dev/owner") == "pod.o"
    assert label(obj, "extra") == "yes"


def test_a_label_has_a_valid_length_and_identifies_one_owner():
    long = [{**OWNER, "metadata": {**OWNER["metadata"], "name": f"{'o' * 60}{end}"}} for end in "ab"]
    assert {len(owner_label(each)) for each in long} == {63}
    assert owner_label(long[0]) != owner_label(long[1])


def test_a_field_added_to_the_users_spec_is_applied_alone_to_this_object():
    obj = {"metadata": {"name": "x", "namespace": "n", "uid": "u", "labels": {"a": "b"}}, "spec": {"theirs": 1}}
    (action,) = completed(CONFIGMAP, obj, {"ours": 2})
    assert action.obj["metadata"] == {"name": "x", "namespace": "n", "uid": "u"}
    assert action.obj["spec"] == {"ours": 2}
    assert completed(CONFIGMAP, {**obj, "spec": {"theirs": 1, "ours": 2}}, {"ours": 2}) == ()


def test_only_absent_changed_or_edited_objects_are_applied():
    (action,) = ensure(CONFIGMAP, wanted(), None)
    assert action.why == "absent"
    assert ensure(CONFIGMAP, wanted(), wanted()) == ()
    assert ensure(CONFIGMAP, wanted(), {**wanted(), "spec": {"a": 1, "of_the_server": 2}}) == ()
    (action,) = ensure(CONFIGMAP, wanted(a=2), wanted())
    assert action.why == "changed"
    (action,) = ensure(CONFIGMAP, wanted(), {**wanted(), "spec": {"a": 5}})
    assert action.why == "edited by another client"


def test_an_object_in_deletion_is_not_written():
    current = wanted()
    current["metadata"]["deletionTimestamp"] = "now"
    assert is_deleting(current)
    assert ensure(CONFIGMAP, wanted(a=2), current) == ()


def test_a_list_must_be_equal_and_a_mapping_may_have_more():
    assert covers({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]})
    assert not covers({"a": [1, 2]}, {"a": [1]})
    assert not covers({"a": [2, 1]}, {"a": [1, 2]})
    assert not covers({}, {"a": 1})
    assert not covers(None, {"a": 1})


def test_our_finalizer_is_found_among_others():
    assert has_finalizer({"metadata": {"finalizers": ["other", FINALIZER]}})
    assert not has_finalizer({"metadata": {"finalizers": ["other"]}})
    assert not has_finalizer({"metadata": {}})
