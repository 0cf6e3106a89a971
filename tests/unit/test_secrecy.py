"""What may be secret is hidden in texts of logs, conditions and errors, and what explains them is kept."""

from __future__ import annotations

import json
import time

import pytest

from stackwright.api.secrecy import hidden

PARTS = ("hunter2", "ter2", "horse", "gAAAA", "aHVud", "MIIE")


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2",
        "user: a, password: hunter2, host: b",
        "password=hunter2",
        "admin_pass=hunter2",
        "adminPass: hunter2",
        "pwd=hunter2",
        "private_key=hunter2",
        "'auth_key': 'hunter2'",
        "password => hunter2",
        "myApiKey=hunter2",
        "password: no-hunter2",
        "password = yes hunter2",
        json.dumps("[ldap]\npassword = correct horse"),
        "password = correct horse battery",
        "  - rabbit.password: correct horse battery",
        "export OS_PASSWORD=correct horse",
        "a password=hun,ter2",
        "a password=hun;ter2",
        "a password=hun&ter2",
        "a password=hun'ter2",
        'a password=hun"ter2',
        r"a password=hun\ter2",
        r'"password": "hun\"ter2"',
        """{'password': "hun'ter2"}""",
        "password: 'it is hunter2",
        '{"password": hunter2, "user": "b"}',
        json.dumps({"event": json.dumps({"password": "hunter2"})}),
        json.dumps({"event": json.dumps({"event": json.dumps({"password": 'a"hunter2', "user": "b"})})}),
        "X-Auth-Token: gAAAABsecret",
        "X-Subject-Token:gAAAABsecret",
        "Authorization: Basic aHVudGVyMg==",
        "Authorization: Bearer hunter2",
        "curl -H 'authorization: bearer hunter2' x",
        "sent Bearer gAAAABsecret0123456789.x-y_z",
        "--password hunter2",
        "--os-password 'a hunter2'",
        "--os-password=hunter2",
        "ALTER USER x IDENTIFIED BY 'hunter2'",
        "rabbit://u:a@h1,v:hunter2@h2/",
        "k -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- z",
        "k -----BEGIN PRIVATE KEY-----\nMIIE",
    ],
)
def test_what_may_be_secret_is_hidden(text: str) -> None:
    found = hidden(text)
    assert "***" in found
    assert not [part for part in PARTS if part in found], found


@pytest.mark.parametrize(
    "text",
    [
        "spec.auth.password: is required",
        "spec.userSecretName: must be lower-case letters, digits and '-'",
        "spec.password: takes text; quote it",
        "secretName: keystone-admin",
        '"secret_ref": "keystone-admin"',
        "Secret openstack/mariadb-root has no key password",
        "Access denied for 'root' (using password: YES)",
        "automountServiceAccountToken: false",
        "password: null, token: None",
        "waiting for Secret openstack/keystone-admin: it is not there",
        "is ready, but issues no token: HTTP 401",
        "no login by the kubeconfig: its command gives no ExecCredential",
        "the public key of node1 is known: ssh-ed25519",
        "compass: north, bypass=1, passed: 3, monkey=a, sort_key=name, routing_key=x",
        "https://keystone.example/v3: HTTP 500",
    ],
)
def test_what_explains_is_kept(text: str) -> None:
    assert hidden(text) == text


def test_what_is_around_a_secret_in_a_line_is_kept() -> None:
    assert hidden("refused: user=a password=hunter2 host=b") == "refused: user=a password=*** host=b"
    assert hidden("refused: user=a,password=hun,ter2,host=b") == "refused: user=a,password=***,host=b"
    assert hidden('{"password":"hunter2","user":"b"}') == '{"password":***,"user":"b"}'
    assert hidden("password =\nuser = x") == "password =\nuser = x"
    assert hidden("[ldap]\npassword = a b\nuser = x") == "[ldap]\npassword = ***\nuser = x"


HOSTILE = [
    *(
        each * 100_000
        for each in ("://", "password", 'password="', "password =", "password=\\'", "\\", "--", "\n- ", "a: ")
    ),
    *(f"password{each * 200_000}" for each in (" ", "a", '"', "\\", "='\\", "=,a", "='\\\\\\\"", ": bearer ")),
    *(
        f"{each * 20_000}password='x"
        for each in ("-----BEGIN PRIVATE KEY-----", "identified by ", "bearer a", "export ")
    ),
    *(" " * 200_000 + each for each in ("", "password", "password=")),
    "\n".join([" " * 200 + "a" * 200] * 2000),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    hidden(text)
    assert time.process_time() - began < 10
