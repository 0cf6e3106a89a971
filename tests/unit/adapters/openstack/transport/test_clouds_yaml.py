"""A tenant writes a clouds.yaml: it names no code and no file, and costs next to nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import tracemalloc
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from stackwright.adapters.openstack.transport import login, project_connection
from stackwright.adapters.openstack.transport.clouds_yaml import DEEPEST, FILE_CHARACTERS, MOST, BadEntry, entry_of
from stackwright.adapters.openstack.transport.login import Login, Logins, connection, login_of
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection
from stackwright.adapters.threads import LibraryFailed, in_thread
from stackwright.core.objects import secret_data
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudRef

AUTH = {"auth_url": "https://keystone/v3", "username": "me", "password": "pw-x", "project_name": "p"}
CLOUD = CloudRef(("ns", "clouds"), "mine")


def text(**entry: Any) -> str:
    return yaml.safe_dump({"clouds": {"mine": {"auth": AUTH, **entry}}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vendor_hook", "sys:exit"),
        ("profile", "vexxhost"),
        ("config", "x"),
        ("cloud", "envvars"),
        ("session", "x"),
        ("oslo_conf", "x"),
        ("cert", "/etc/passwd"),
        ("key", "/etc/passwd"),
        ("cacert", "/etc/passwd"),
        ("verify", "/etc/passwd"),
        ("insecure", "/etc/passwd"),
        ("auth_type", "v3oidcaccesstoken"),
        ("region_name", {"a": 1}),
        ("interface", "public\nx"),
        ("compute_endpoint_override", ["x"]),
        ("pool_executor", 1),
        (7, 1),
    ],
)
def test_a_key_that_is_not_allowed_is_named(key: Any, value: Any) -> None:
    data = {"clouds.yaml": yaml.safe_dump({"clouds": {"mine": {"auth": AUTH, key: value}}})}
    with pytest.raises(TransientCloudError, match=rf"clouds\.mine\.{key} ") as raised:
        login_of(CLOUD, data)
    assert raised.value.reason == "CredentialsInvalid"
    assert "/etc/passwd" not in str(raised.value)
    assert "pw-x" not in str(raised.value)


def test_keys_of_auth_are_checked_too_and_all_are_named() -> None:
    entry = {"clouds": {"mine": {"auth": {**AUTH, "identity_provider": "x", "password": ["pw-x"]}, "profile": "p"}}}
    with pytest.raises(BadEntry) as raised:
        entry_of(yaml.safe_dump(entry), "mine")
    for named in ("mine.profile", "mine.auth.identity_provider", "mine.auth.password takes a string"):
        assert named in str(raised.value)
    assert "pw-x" not in str(raised.value)


def test_usual_content_of_clouds_yaml_is_allowed() -> None:
    more = {"region_name": "R", "interface": "public", "identity_api_version": 3, "verify": False}
    more |= {
        "auth_type": "v3applicationcredential",
        "compute_api_version": "2.79",
        "volume_endpoint_override": "http://v",
    }
    assert entry_of(text(**more, regions=["R", "S"]), "mine") == {"auth": AUTH, **more}


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "bad",
    [
        BOMB,
        "clouds: &c\n  mine: *c\n",
        "clouds: {mine: {auth: &a {x: 1}, more: *a}}",
        "x" * (FILE_CHARACTERS + 1),
        "[" * 3000,
        "{a: " * 15_000,
        "a: 2026-99-99",
        f"a: {'9' * 5000}",
        "- a",
        "3",
        "clouds: 3",
        "? [a]\n: b",
        "!!python/object/apply:os.system [id]",
        "",
    ],
)
def test_an_invalid_text_is_rejected_at_little_cost(bad: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TransientCloudError) as raised:
            login_of(CLOUD, {"clouds.yaml": bad})
        assert tracemalloc.get_traced_memory()[1] < 32_000_000
    finally:
        tracemalloc.stop()
    assert raised.value.reason == "CredentialsInvalid"
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("item", ["1,", "[],", "{a: 1},", "'',", "2001-01-01,", "!!str a,"])
def test_a_text_of_many_values_is_rejected_before_they_are_created(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    created = Mock()
    monkeypatch.setattr(yaml, "load", created)
    with pytest.raises(BadEntry, match=f"has more than {MOST} keys and values"):
        entry_of(f"clouds: {{mine: [{item * (FILE_CHARACTERS // len(item) - 10)}]}}", "mine")
    created.assert_not_called()


@pytest.mark.parametrize(("opening", "closing"), [("- ", ""), ("? ", ""), ("[", "]"), ("{a: ", "}")])
def test_a_deep_text_is_rejected_before_its_values_are_created(
    opening: str, closing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = Mock(return_value={})
    monkeypatch.setattr(yaml, "load", created)
    with pytest.raises(BadEntry, match="has no cloud"):
        entry_of(f"{opening * DEEPEST}1{closing * DEEPEST}", "mine")
    created.reset_mock()
    with pytest.raises(BadEntry, match=f"is nested deeper than {DEEPEST} levels"):
        entry_of(f"{opening * (DEEPEST + 1)}1{closing * (DEEPEST + 1)}", "mine")
    created.assert_not_called()


def test_fifty_clouds_fit_in_a_clouds_yaml() -> None:
    entry = {"auth": {**AUTH, "user_domain_name": "d", "project_domain_name": "d"}, "verify": True}
    entry |= {"region_name": "R", "interface": "public", "identity_api_version": 3, "compute_api_version": "2.79"}
    assert entry_of(json.dumps({"clouds": {f"c{number}": entry for number in range(50)}}), "c49") == entry


def test_a_text_with_colons_is_no_number() -> None:
    """In YAML 1.1 it is one of base 60, and 64 KiB of it take half a second to compute."""
    for password in ("12:34:56", "12:34:56.7"):
        auth = f"auth: {{password: {password}, auth_url: x}}"
        assert entry_of(f"clouds: {{mine: {{{auth}}}}}", "mine")["auth"]["password"] == password


def test_directives_are_rejected() -> None:
    """64 KiB of them take libyaml a tenth of a second, as it compares each with all others."""
    ends = ("\n", "\r", "\r\n", "\x85", "\u2028", "\u2029")
    others = [f"#{end}%TAG !a! b{end}--- {{}}" for end in ends]
    for directive in ("%TAG !a! b\n" * 5000, "%YAML 1.1\n---\n", "\ufeff%YAML 1.1\n---\n", *others):
        with pytest.raises(BadEntry, match="directives"):
            entry_of(f"{directive}{text()}"[:FILE_CHARACTERS], "mine")


@pytest.mark.parametrize("field", ["clouds.yaml", "cacert"])
def test_bytes_that_are_no_text_are_named(field: str) -> None:
    data = secret_data({"data": {field: base64.b64encode(b"clouds: \xff").decode()}})
    with pytest.raises(TransientCloudError, match=rf"^{field} in Secret ns/clouds: must be UTF-8 text$") as told:
        login_of(CLOUD, {"clouds.yaml": text(), **data})
    assert told.value.reason == "CredentialsInvalid"


class Counted:
    """A Secret that changes, and the number of times that its clouds.yaml was parsed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data = {"clouds.yaml": text()}
        self.parsed = 0
        self.now = 100.0
        self.logins = Logins(self._secret)
        real = login.login_of

        def counted(cloud: CloudRef, data: Mapping[str, str]) -> Login:
            self.parsed += 1
            return real(cloud, data)

        monkeypatch.setattr(login, "login_of", counted)
        monkeypatch.setattr(login.time, "monotonic", lambda: self.now)

    async def _secret(self, key: Any) -> dict[str, Any]:
        return {"data": {name: base64.b64encode(value.encode()).decode() for name, value in self.data.items()}}

    async def get(self, cloud: CloudRef = CLOUD) -> Login | str:
        self.now += login.READ_AGAIN
        try:
            return await self.logins.get(cloud)
        except TransientCloudError as error:
            return str(error)


async def test_an_unchanged_secret_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Counted(monkeypatch)
    first = await secret.get()
    assert isinstance(first, Login)
    assert await secret.get() == first
    assert secret.parsed == 1
    secret.data["cacert"] = "PEM"
    changed = await secret.get()
    assert isinstance(changed, Login)
    assert (changed.ca, secret.parsed) == ("PEM", 2)


async def test_an_invalid_secret_is_parsed_once_and_at_once_when_it_is_corrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = Counted(monkeypatch)
    secret.data["clouds.yaml"] = "clouds: {}"
    told = [await secret.get() for _ in range(3)]
    assert told == ["clouds.yaml in Secret ns/clouds: has no cloud mine; its clouds: none"] * 3
    assert secret.parsed == 1
    secret.data["clouds.yaml"] = text()
    secret.now -= login.READ_AGAIN  # without any delay
    assert isinstance(await secret.get(), Login)
    secret.data["clouds.yaml"] = ""
    assert "has no cloud mine" in str(await secret.get())
    assert secret.parsed == 3


async def test_results_of_secrets_that_nobody_reads_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Counted(monkeypatch)
    for number in range(5):
        await secret.get(CloudRef(CLOUD.secret, f"c{number}"))
    secret.now += login.FORGET
    for _ in range(5):
        await secret.get()
    assert list(secret.logins._known) == [CLOUD]


async def test_it_is_parsed_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = asyncio.get_running_loop()
    seen = []

    def parse(*_: Any) -> Login:
        try:
            seen.append(asyncio.get_running_loop() is inside)
        except RuntimeError:
            seen.append(False)
        return Login("d", {}, "")

    async def secret(_: Any) -> dict[str, Any]:
        return {"data": {}}

    monkeypatch.setattr(login, "login_of", parse)
    await Logins(secret).get(CLOUD)
    assert seen == [False]


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), BaseException("panic"), GeneratorExit()])
async def test_an_exception_in_a_thread_is_an_error_of_the_call(raised: BaseException) -> None:
    def library() -> None:
        raise raised

    with pytest.raises(LibraryFailed, match=type(raised).__name__):
        await in_thread(library)


async def test_a_library_that_exits_ends_the_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_connection, "connection", lambda *_: Mock(current_project_id="p"))
    project = ProjectConnection(Login("d", {"auth": AUTH}, ""))

    def leaves(_: Any) -> None:
        raise SystemExit(1)

    with pytest.raises(TransientCloudError, match="SystemExit") as told:
        await asyncio.create_task(project.do("compute", leaves))
    assert told.value.reason == "Unreachable"
    project.close()


@pytest.mark.parametrize("raised", [SystemExit(0), ValueError("no good: pw-x")])
def test_a_client_that_cannot_be_created_is_reported_without_secrets(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    monkeypatch.setattr("openstack.connection.Connection", Mock(side_effect=raised))
    with ExitStack() as files, pytest.raises(TransientCloudError) as told:
        connection(Login("d", {"auth": AUTH}, ""), files)
    assert told.value.reason == "CredentialsInvalid"
    assert "pw-x" not in str(told.value)


@pytest.mark.parametrize("where", ["region_name: ", "auth: {password: "])
def test_a_number_without_end_is_refused_by_name(where: str) -> None:
    """Python refuses to write down such a number; YAML has them in hexadecimal."""
    end = "}" if "{" in where else ", auth: {}"
    data = {"clouds.yaml": f"clouds: {{mine: {{{where}0x{'f' * 40_000}{end}}}}}"}
    with pytest.raises(TransientCloudError, match="takes a string") as raised:
        login_of(CLOUD, data)
    assert raised.value.reason == "CredentialsInvalid"


def test_a_name_that_may_contain_a_secret_is_not_repeated() -> None:
    for entry in ({"auth": {**AUTH, "password=pw-x": None}}, {"auth": AUTH, "password: pw-x": 1}):
        data = {"clouds.yaml": json.dumps({"clouds": {"mine": entry, "password=pw-x": {}}})}
        for cloud in ("mine", "other"):
            with pytest.raises(TransientCloudError) as told:
                login_of(CloudRef(CLOUD.secret, cloud), data)
            assert "***" in str(told.value)
            assert "pw-x" not in str(told.value)
