"""The cause of a failed release is read from Helm's own record, and nothing else of it."""

from __future__ import annotations

import base64
import gzip
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from stackwright.api.kinds import SECRET
from stackwright.core.helm.records import cause_only, error_message, releases, revisions
from stackwright.forecast.snapshot import Snapshot
from stackwright.runtime.cluster.cache import slim

SAID = 'cannot patch "api" with kind Deployment: quantities must match the regular expression'


def packed(content: bytes, *, zipped: bool = True) -> str:
    inner = gzip.compress(content) if zipped else content
    return base64.b64encode(base64.b64encode(inner)).decode()


def secret(description: str = f'Upgrade "a" failed: {SAID}', state: str = "failed", **more: Any) -> dict[str, Any]:
    """As Helm writes it: the record's fields in the order of its struct."""
    info = {"first_deployed": "2026-01-01T00:00:00Z", "deleted": "", "description": description, "status": state}
    record = {"name": "a", "info": info, "chart": {"values": {"x": "y" * 500_000}}, "config": {"password": "hush"}}
    labels = {"owner": "helm", "name": "a", "version": "3", "status": state, **more.pop("labels", {})}
    data = {"release": packed(json.dumps(record).encode()), **more}
    return {"metadata": {"name": "sh.helm.release.v1.a.v3", "namespace": "openstack", "labels": labels}, "data": data}


@pytest.mark.parametrize("verb", ["Upgrade", "Release", "Rollback"])
def test_the_cause_of_a_failed_release_is_in_its_record(verb: str) -> None:
    found = secret(f'{verb} "a" failed: {SAID}')
    assert releases([found])["a"].cause == revisions([found])[0].cause == SAID


def test_only_the_cause_of_a_record_is_kept() -> None:
    kept = slim(SECRET, secret(other="c2VjcmV0"))
    assert releases([kept])["a"].cause == SAID
    assert kept["data"]["other"] == ""
    assert (
        base64.b64decode(base64.b64decode(kept["data"]["release"]))
        == json.dumps({"info": {"description": SAID}}).encode()
    )


async def test_a_plan_sees_it_too() -> None:
    class One:
        async def list(self, *_: Any) -> list[dict[str, Any]]:
            return [secret()]

        async def get(self, *_: Any) -> dict[str, Any]:
            return secret()

    base = Snapshot(One())
    assert releases(await base.list(SECRET, "openstack"))["a"].cause == SAID
    assert "hush" not in str(await base.get(SECRET, ("openstack", "a")))


@pytest.mark.parametrize(
    "other",
    [
        secret(state="deployed"),
        secret(labels={"owner": "somebody"}),
        {**secret(), "data": {}},
        {**secret(), "data": None},
        {**secret(), "data": {"release": "?"}},
        {**secret(), "data": {"release": packed(b"not json")}},
        {**secret(), "data": {"release": packed(b'{"info":' + b"[" * 100_000)}},
        {**secret(), "data": {"release": packed(b'{"info":[]}')}},
        {**secret(), "data": {"release": packed(b'{"info":{"description":"Upgrade", "x":')}},
    ],
)
def test_all_other_records_have_no_cause(other: dict[str, Any]) -> None:
    assert cause_only(other) == {}
    assert all(found.cause == "" for found in releases([other]).values())


def test_a_record_without_compression_and_a_bomb_are_read_as_well() -> None:
    plain = {"info": {"description": f'Upgrade "a" failed: {SAID}'}}
    found = {**secret(), "data": {"release": packed(json.dumps(plain).encode(), zipped=False)}}
    assert releases([found])["a"].cause == SAID
    vast = {"info": {"description": "x" * 50_000_000}}
    assert cause_only({**secret(), "data": {"release": packed(json.dumps(vast).encode())}}) == {}


def test_a_cause_is_one_short_line_without_values_of_objects() -> None:
    said = (
        'Upgrade "a" failed: Secret "x" is invalid: data[p]: Invalid value: "hush \\"hush\\"": must be\nshort '
        + "and " * 200
    )
    cause = releases([secret(said)])["a"].cause
    assert cause.startswith('Secret "x" is invalid: data[p]: Invalid value: …: must be short and')
    assert "hush" not in cause and "\n" not in cause and len(cause) == 300


@pytest.mark.parametrize("text", ["9" * 11, "9" * 63, "\u00b2", "\u0662", "-1", "1e9", ""])
@pytest.mark.parametrize("label", ["modifiedAt", "version"])
def test_a_number_in_a_format_that_helm_does_not_write_is_ignored(label: str, text: str) -> None:
    (found,) = revisions([secret(labels={label: text})])
    assert (found.updated if label == "modifiedAt" else found.revision) == 0
    datetime.fromtimestamp(revisions([secret(labels={"modifiedAt": "9" * 10})])[0].updated, UTC)


WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
QUOTED = (
    '"hush"',
    '"a: hush"',
    r'"a\"}]: hush"',
    '"{\\"a\\": \\"b: hush\\"}"',
    'core.PodTemplateSpec{Name:"b: hush", Nodes:[]string(nil), Spec:core.PodSpec{Args:[]string{"--p: hush"}}}',
    '[]string{"a", "b: hush"}',
    'map[string]interface {}{"p":"b: hush"}',
    "map[a:b: hush]",
    '["a","b: hush"]',
    '{"p":"b: hush"}',
)


@pytest.mark.parametrize("value", QUOTED)
def test_no_value_appears_in_any_form_of_quotation(value: str) -> None:
    field = 'Deployment.apps "a" is invalid: spec.x[0].y'
    assert error_message(f"{field}: Invalid value: {value}: {WRONG}") == f"{field}: Invalid value: …: {WRONG}"
    assert error_message(f"{field}: Duplicate value: {value}") == f"{field}: Duplicate value: …"
    unsupported = f'{field}: Unsupported value: {value}: supported values: "A", "B"'
    assert error_message(unsupported) == f"{field}: Unsupported value: …"
    both = f'Deployment.apps "a" is invalid: [x: Invalid value: {value}: no, y: Invalid value: {value}: {WRONG}]'
    assert error_message(both) == f'Deployment.apps "a" is invalid: [x: Invalid value: …: {WRONG}'
    assert "hush" not in error_message(
        f'Deployment.apps "a" is invalid: [x: Required value, y: Duplicate value: {value}]'
    )
    assert error_message(f"{field}: Not found: {value}") == f"{field}: Not found:"


def test_other_ways_to_quote_an_object_are_cut_off() -> None:
    order = "The order in patch list: [map[name:P value:hush: hush]] doesn't match $setElementOrder list: [map[name:A]]"
    assert error_message(order) == "The order in patch list:"
    assert error_message(f'{WRONG}, error found in #10 byte of ...|"p: hush"|..., bigger context') == WRONG


@pytest.mark.parametrize("part", ["Invalid value: {", 'Invalid value: "', "patch list: ", "}: ", '": ', "[", "\\"])
def test_a_hostile_cause_is_parsed_fast(part: str) -> None:
    """It is parsed in the event loop, for each Secret of any namespace with Helm's label."""
    hostile = secret(part * 7_500 + "}" * 100_000)
    since = time.process_time()
    assert len(releases([slim(SECRET, hostile)])["a"].cause) <= 300
    assert time.process_time() - since < 1, "seconds"
