"""The data from Ceph, in both formats, and the result for a client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackwright.core.secrets.cephkeys import CephKeysError, Missing, access, parse

SPEC: dict[str, Any] = {
    "client": "cinder",
    "pools": [{"name": "volumes", "role": "volumes"}, {"name": "images", "role": "images"}],
    "options": {"rbd": {"rbd_pool": "pool:volumes", "rbd_user": "user", "rbd_secret_uuid": "secret_uuid"}},
}
GIVEN = {
    "client.admin": "AQadmin==",
    "mon_endpoints": "192.0.2.1:6789, 192.0.2.2:6789",
    "cinder": "client.cinder-1;AQkey==\n;volumes-hdd:volumes:hdd;images-hdd:images:hdd",
}


def test_text_of_the_existing_systems() -> None:
    handed = parse(GIVEN["cinder"])
    assert (handed.user, handed.key) == ("cinder-1", "AQkey==")
    assert handed.pool("volumes") == "volumes-hdd"


def test_the_same_as_json() -> None:
    text = json.dumps({"client_id": "c", "client_name": "client.c", "key": "AQ==", "pools": ["a:images:ssd"]})
    assert parse(text).pools == (("a", "images"),)


def test_the_secret_of_a_client_has_the_provided_pools_not_the_requested_ones() -> None:
    made = access(GIVEN, SPEC, "u-u-i-d")
    assert made["ceph.conf"] == "[global]\nmon_host = 192.0.2.1:6789,192.0.2.2:6789\nkeyring = /etc/ceph/keyring\n"
    assert made["keyring"] == "[client.cinder-1]\n\tkey = AQkey==\n"
    assert made["rbd.conf"] == "[rbd]\nrbd_pool = volumes-hdd\nrbd_secret_uuid = u-u-i-d\nrbd_user = cinder-1\n"
    assert json.loads(made["pools.json"]) == [
        {"name": "volumes-hdd", "role": "volumes"},
        {"name": "images-hdd", "role": "images"},
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "it lacks mon_endpoints"),
        ({"mon_endpoints": "192.0.2.1:6789"}, "it lacks cinder"),
        ({**GIVEN, "cinder": "client.c;AQ==;a:volumes:hdd"}, "c has no pool of role images"),
    ],
)
def test_missing_keys_cause_a_wait(given: dict[str, str], text: str) -> None:
    with pytest.raises(Missing, match=text):
        access(given, SPEC, "")


@pytest.mark.parametrize(
    "text",
    [
        "", "AQonly==", "cinder;AQ==;a:volumes:hdd", "client.c;;a:volumes:hdd", "client.c;AQ==;a", "[" * 100_000, "[]",
        '{"client_name": "client.c", "key": "AQ==", "pools": 5}',
        '{"client_name": "client.c", "key": "AQ==", "pools": {"a:volumes:hdd": 1}}',
        '{"client_name": ["AQ=="], "key": {"AQ==": 1}}',
    ],
)  # fmt: skip
def test_malformed_keys_are_reported_without_the_key(text: str) -> None:
    with pytest.raises(ValueError, match="field cinder: ") as error:
        access({**GIVEN, "cinder": text}, SPEC, "")
    assert "AQ" not in str(error.value)


@pytest.mark.parametrize("word", ["nonsense", "pool:vms", "", "pool:"])
def test_an_unknown_placeholder_is_reported_with_its_option(word: str) -> None:
    wrong = {**SPEC, "options": {"rbd": {**SPEC["options"]["rbd"], "x": word}}}
    with pytest.raises(
        CephKeysError, match=r"^spec.options.rbd.x: takes user, secret_uuid, pool:volumes, pool:images$"
    ):
        access(GIVEN, wrong, "")


@pytest.mark.parametrize(
    "text",
    [
        "client.nova;vms:nova:hdd;AQhunter2==",
        json.dumps({"client_name": "client.a", "key": "k", "pools": ["AQhunter2"]}),
    ],
    ids=("text", "json"),
)
def test_an_error_about_a_pool_names_its_number_since_its_text_may_be_the_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"^pool [12]: takes <pool>:<role>:<device class>$"):
        parse(text)
