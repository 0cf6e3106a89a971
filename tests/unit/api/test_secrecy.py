"""What may be secret is hidden in texts of logs, conditions and errors, and what explains them is kept."""

from __future__ import annotations

import base64
import json

import pytest

from stackwright.api.secrecy import hidden
from stackwright.runtime.logs import blank

PARTS = ("hunter2", "ter2", "horse", "gAAAA", "aHVud", "MIIE", "eyJ", "LS0t", "aVZ1", "AKIA", "AQBh", "saltsalt")
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.aVZ1c2lnbmF0dXJl"
FERNET = "gAAAAABnRJ2b7w3X_u-0123456789abcdefghijklmnopqrstuvwxyz"


SECRETS = [
    "hmac_keys = hunter2",
    "psk = hunter2",
    "rootpw=hunter2",
    "rootpw hunter2",
    "bindpw hunter2",
    "a OS_PASSWORD hunter2",
    "a user_data: hunter2 b",
    "the password is hun!ter2",
    "the password is 'horse'",
    "CREATE USER a IDENTIFIED VIA mysql_native_password USING 'hunter2'",
    "IDENTIFIED VIA ed25519 USING PASSWORD('hunter2')",
    "mysql -uroot -phunter2 -e 'SELECT 1'",
    "mysqldump -h db -u root -phun!ter2",
    "mariadb -uroot -phunter2 -e 'SELECT 1'",
    "mariadb-admin -phunter2 ping",
    "curl -u admin:hunter2 https://a.example",
    "curl -s --user 'admin:hun!ter2' https://a.example",
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
    '["--token", "hunter2"]',
    "['mysql', '-p', 'hunter2', '-u']",
    json.dumps({"event": json.dumps(["-p", "hunter2"])}),
    '[]string{"--os-password","hunter2"}',
    json.dumps(["x", "--token", "hunter2", "-v"], indent=2),
    json.dumps(["mysql", "-p", "hunter2"], indent=1),
    json.dumps({"event": json.dumps(["--token", "hunter2"], indent=4)}),
    "args:\n- --token\n- hunter2\n- -v",
    "args:\r\n  - '--os-password'\r\n  - a hunter2",
    "  - mysql\n  - -p\n  - hunter2\n",
    "+  - --token\n+  - hunter2",
    "-  - --token\n-  - hunter2",
    json.dumps({"event": "args:\n- --token\n- hunter2\n- -v"}),
    "passwords:\n- hunter2\n- horse",
    "  tokens:\n    - hunter2\n    - horse\n  x: y",
    json.dumps({"a": {"passwords": ["hunter2", "horse"]}}, indent=2),
    json.dumps({"event": json.dumps({"tokens": ["hunter2", "horse"]}, indent=2)}),
    "ALTER USER x IDENTIFIED BY 'hunter2'",
    "rabbit://u:a@h1,v:hunter2@h2/",
    "k -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- z",
    "k -----BEGIN PRIVATE KEY-----\nMIIE",
    "k -----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIE\n-----END PGP PRIVATE KEY BLOCK----- z",
    "db_pw=hunter2",
    "password: *** hunter2",
    "{'password': b'a hunter2'}",
    "{'Cookie': b'sessionid=hunter2; other=horse', 'a': 'b'}",
    "?next=%2Fx%3Fpassword%3Dhunter2&a=b",
    "?next=password%3Ahunter2&a=b",
    "?data=%7B%22password%22%3A%22hunter2%22%7D",
    "?data=%7B%22password%22%3A%20%22hunter2%22%7D",
    "?data=%7b%22password%22%3a%22hunter2%22%7d",
    "?data=%7B%27password%27%3A+%27hunter2%27%7D",
    "cookies={'sid': 'hunter2'}",
    "Cookies: {'sid': 'hunter2', 'other': 'horse'}",
    'got cookies={"sid": "hunter2", "other": "horse"} of it',
    "cookies=[('sid', 'hunter2'), ('other', 'horse')]",
    "'cookies': {'sid': 'hunter2'}, 'a': 'b'",
    "<RequestsCookieJar[<Cookie sid=hunter2 for a/>]>",
    json.dumps({"event": "cookies={'sid': 'hunter2'}", "a": "b"}),
    json.dumps({"event": json.dumps({"cookies": {"sid": "hunter2"}}), "a": "b"}),
    "a PW: hunter2",
    "root-pw=hunter2 b",
    "dbPw: hunter2",
    '{"db_pw": "hunter2"}',
    "Cookie: sessionid=hunter2; other=horse",
    'Cookie: sessionid="hunter2"; other=horse',
    "< Set-Cookie: sessionid=hunter2; expires=Wed, 25 Nov 2026; other=horse",
    "curl -H 'Cookie: sessionid=hunter2; other=horse' http://x",
    "{'Set-Cookie': 'sessionid=hunter2; other=horse', 'a': 'b'}",
    json.dumps({"headers": json.dumps({"cookie": 'a="hunter2"; other=horse'})}),
    "RABBITMQ_ERLANG_COOKIE=hunter2",
    f"sent {JWT} to the API",
    f"a\\n{JWT}\\nb",
    f"?q=%3D{JWT}&x",
    "encrypted eyJhbGciOiJkaXIifQ..aVZ1aVZ1.aVZ1.aVZ1 it is",
    f"GET /v3/auth/tokens/{FERNET}== HTTP/1.1",
    f"({FERNET})",
    "keys: 0 is aVZ1fD3-aVZ1_9xaVZ1aVZ1aVZ1aVZ1aVZ1aVZ1aVZ1=",
    "key = AQBhVud0aVZ1aVZ1aVZ1aVZ1aVZ1aVZ1aVZ1aV==",
    "id AKIAIOSFODNN7EXAMPLE of it",
    "x?X-Amz-Date=1&X-Amz-Signature=aVZ10123456789abcdefaVZ1&y=1",
    "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=aVZ10123456789abcdef",
    "client-key-data: " + base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\nMIIEMIIEMIIE").decode(),
    "tls.key: " + base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nMIIEMIIEMIIE").decode(),
    "root:$6$saltsalt$aVZ1aVZ1aVZ1aVZ1aVZ1aVZ1:19000",
    "password_hash $2b$12$saltsaltaVZ1aVZ1aVZ1aVZ1aVZ1aVZ1 x",
]


@pytest.mark.parametrize("text", SECRETS)
def test_possible_secrets_are_hidden(text: str) -> None:
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
        "is ready, but a token request failed: HTTP 401",
        "authentication with the kubeconfig failed: its command returned no ExecCredential",
        "the public key of node1 is known: ssh-ed25519",
        "compass: north, bypass=1, passed: 3, monkey=a, sort_key=name, routing_key=x",
        "https://keystone.example/v3: HTTP 500",
        '["--password", "--verbose"], ["-u", "x"]',
        '[\n  "--password",\n  "--verbose"\n]',
        "args:\n- --password\n- --verbose",
        "imagePullSecrets:\n- name: a\n- name: b",
        "secret:\n  secretName: a",
        "It needs a password:\nset one",
        "mkdir -p /run/x",
        "the password is required, and the password is too short",
        "OS_PASSWORD is not set, MYSQL_ROOT_PASSWORD must be set",
        "spec.userData: takes text; quote it",
        "mysql -P 3306 -p",
        "mysql: connecting to db -p",
        "curl -u admin https://a.example",
        "spec.cookie: takes text; quote it",
    ],
)
def test_explanations_are_kept(text: str) -> None:
    assert hidden(text) == text


def test_text_around_a_secret_in_a_line_is_kept() -> None:
    assert hidden("refused: user=a password=hunter2 host=b") == "refused: user=a password=*** host=b"
    assert hidden("refused: user=a,password=hun,ter2,host=b") == "refused: user=a,password=***,host=b"
    assert hidden('{"password":"hunter2","user":"b"}') == '{"password":***,"user":"b"}'
    assert hidden("password =\nuser = x") == "password =\nuser = x"
    assert hidden("[ldap]\npassword = a b\nuser = x") == "[ldap]\npassword = ***\nuser = x"


@pytest.mark.parametrize("style", ["|", ">", "|-", ">+", "|2", "|2-", ">-  # which"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\\\n"])
def test_a_value_of_several_lines_is_hidden_in_yaml(style: str, end: str) -> None:
    lines = ["a:", f"  - db.password: {style}", "      hunter2", "", "        horse: 1", "    user: b", "  - c"]
    assert hidden(end.join(lines)) == end.join(["a:", "  - db.password: ***", "    user: b", "  - c"])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password: |\n  hunter2", "password: ***"),
        ('"token": >\n  hunter2\n\n\nb: 1', '"token": ***\nb: 1'),
        ("-   pw: |\n-     hunter2\n-   b: 1", "-   pw: ***\n-   b: 1"),
        ("+ cookie: |\n+   hunter2\n+ b: 1", "+ cookie: ***\n+ b: 1"),
        ('{"event": "password: |\\n hunter2\\nb: 1"}', '{"event": "password: ***\\nb: 1"}'),
        ('a:\n  password: "horse\n    hunter2"\n  b: 1', "a:\n  password: ***\n  b: 1"),
        ("secret_name: |\n  kept", "secret_name: |\n  kept"),
        ("script: |\n  kept", "script: |\n  kept"),
        ("a > b\n  kept", "a > b\n  kept"),
    ],
)
def test_text_around_such_a_value_is_kept(text: str, left: str) -> None:
    assert hidden(text) == left


ORDINARY = """\
2026-11-25 10:00:00.123 7 INFO nova.compute.manager [None req-6a0a4b3c-2c4e-4f0e-9b0e-7f3f2a1b0c9d 5e1a 8c2b - - default default] [instance: 3c2b1a00-aaaa-bbbb-cccc-0123456789ab] Took 3.14 seconds to spawn the instance on the hypervisor.
2026-11-25 10:00:01.000 7 WARNING nova.scheduler.client.report [-] Unable to refresh my resource provider record
2026-11-25 10:00:01.000 7 DEBUG oslo_concurrency.lockutils Lock "compute_resources" acquired by "nova.compute.resource_tracker.ResourceTracker._update" :: waited 0.001s
2026-11-25 10:00:01.000 7 INFO nova.osapi_compute.wsgi.server 10.0.0.1 "GET /v2.1/servers/detail?limit=1000&sort_key=name HTTP/1.1" status: 200 len: 1893 time: 0.1234
2026-11-25 10:00:01.000 7 ERROR nova oslo_messaging.exceptions.MessagingTimeout: Timed out waiting for a reply to message ID 0123456789abcdef0123456789abcdef
2026-11-25 10:00:01.000 7 DEBUG neutron.agent.ovsdb table=21, cookie=0x8b8b1f2e, priority=2, n_packets=0 actions=output:1
 cookie=0x0, duration=12.3s, table=0, n_packets=5, n_bytes=390, priority=0 actions=NORMAL
{'cookie': 9876543210987654321, 'table': 60, 'priority': 4}
2026-11-25 10:00:02.000 9 INFO neutron.wsgi 10.0.0.2 "GET /v2.0/ports.json?device_id=abc&fields=id HTTP/1.1" status: 200
2026-11-25 10:00:02.000 9 WARNING neutron.api.rpc.agentnotifiers.dhcp_rpc_agent_api Unable to schedule network 11111111-2222-3333-4444-555555555555: no agents available
I1125 10:00:00.000000       1 reflector.go:359] Caches populated for *v1.Secret from k8s.io/client-go/informers/factory.go:160
I1125 10:00:00.000000       1 controller.go:615] quota admission added evaluator for: serviceaccounts
E1125 10:00:00.000000       1 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"api\\" with CrashLoopBackOff" pod="openstack/nova-api-7c9f8d6b5-x2x4z"
Pulled image "registry.local/nova@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" in 1.2s
{"level":"info","ts":"2026-11-25T10:00:00.000Z","caller":"etcdserver/server.go:2144","msg":"published local member","member-id":"8e9e05c52164694d"}
MountVolume.SetUp failed for volume "kube-api-access-x2x4z" : object "openstack"/"kube-root-ca.crt" not registered
Successfully assigned openstack/keystone-api-5d4c7b8f9d-abcde to node1
client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUNqUT09
SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDHJcSeuAQeBsHkX3U is the fingerprint of node1
a_long_name_of_an_option_with_43_characters=
LONG_NAME_OF_A_VARIABLE_OF_43_CHARACTERS_123=
error: unable to upgrade connection: container not found ("nova-api")
<p> a | b > c -> d >= e: |x|
wsrep_cluster_size: 3, wsrep_local_state_uuid: 6a0a4b3c-2c4e-11ee-9b0e-7f3f2a1b0c9d
keyjoyed eyJ eyJ. eyJ... gAAAA AKIA $6$ $HOME/$1/x cookies cookie hash
"""  # noqa: E501 - as they are


@pytest.mark.parametrize("line", ORDINARY.splitlines())
def test_ordinary_lines_of_logs_are_kept(line: str) -> None:
    assert hidden(line) == line


def test_ordinary_logs_are_kept_complete() -> None:
    assert hidden(ORDINARY) == ORDINARY


def test_fields_of_a_log_are_hidden_by_their_names() -> None:
    event = {"event": "made password=hunter2 x", "db_pw": "hunter2", "erlang_cookie": "hunter2", "key": "a/b", "n": 1}
    assert blank(None, "", event) == {
        "event": "made password=*** x", "db_pw": "***", "erlang_cookie": "***", "key": "a/b", "n": 1
    }  # fmt: skip
