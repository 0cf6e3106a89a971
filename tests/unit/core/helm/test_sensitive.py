"""Options that are taken from Secrets."""

import pytest

from stackwright.core.helm.sensitive import Misplaced, cut


def reference(name="s", key="k"):
    return {"value_from": {"secret_key_ref": {"name": name, "key": key}}}


def test_references_are_removed_and_the_rest_is_unchanged():
    values = {"conf": {"keystone": {"ldap": {"password": reference(), "user": "u"}}}, "pod": {"replicas": {"api": 2}}}
    clean, sections = cut(values, "keystone")
    assert clean == {"conf": {"keystone": {"ldap": {"user": "u"}}}, "pod": {"replicas": {"api": 2}}}
    assert sections == {"ldap": {"password": ("s", "k")}}


def test_an_explicit_none_is_kept_because_it_removes_a_value():
    assert cut({"a": None, "b": {"c": None}}, None)[0] == {"a": None, "b": {"c": None}}


@pytest.mark.parametrize(
    ("values", "conf_file", "where"),
    [
        ({"pod": {"secret": reference()}}, "keystone", "pod.secret"),
        ({"conf": {"other": {"a": {"b": reference()}}}}, "keystone", "conf.other.a.b"),
        ({"conf": {"keystone": {"a": reference()}}}, "keystone", "conf.keystone.a"),
        ({"conf": {"keystone": {"a": {"b": {"c": reference()}}}}}, "keystone", "conf.keystone.a.b.c"),
        ({"conf": {"keystone": {"a": {"b": [reference()]}}}}, "keystone", "conf.keystone.a.b.0"),
        ({"conf": {"x": {"a": {"b": reference()}}}}, None, "conf.x.a.b"),
    ],
)
def test_a_reference_where_no_snippet_can_carry_it_is_refused_with_its_path(values, conf_file, where):
    rule = "allowed at " if conf_file else "not allowed in values of this chart$"
    with pytest.raises(Misplaced, match=f"^{where}: value_from is {rule}"):
        cut(values, conf_file)


@pytest.mark.parametrize(
    "node",
    [
        {"value_from": "x"},
        {"value_from": {"secret_key_ref": {"name": "s"}}},
        {"value_from": {"config_map_ref": {"name": "s", "key": "k"}}},
        {"value_from": {"secret_key_ref": {"name": "s", "key": "k", "more": 1}}},
        {"value_from": {"secret_key_ref": {"name": "s", "key": "k"}}, "default": "x"},
        {"value_from": {"secret_key_ref": {"name": "s", "key": "k"}, "other": 1}},
    ],
)
def test_a_reference_of_another_form_is_refused_with_its_path(node):
    with pytest.raises(ValueError, match=r"^conf\.keystone\.a\.b: "):
        cut({"conf": {"keystone": {"a": {"b": node}}}}, "keystone")
