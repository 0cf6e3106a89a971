"""RabbitMqMessaging against a stand-in for the management API."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from stackwright.adapters.rabbitmq import RabbitMqMessaging
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.plan.accounts import EnsureMessagingAccount

ADMIN = {"username": "admin", "password": "root-pw"}


class Server:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, Any]] = []
        self.status = 204
        self.body = '{"reason":"bad"}'
        self.port = 0
        self.pause = 0.0
        self.compressed = False

    async def answer(self, request: web.Request) -> web.Response:
        if request.headers["Authorization"] != f"Basic {base64.b64encode(b'admin:root-pw').decode()}":
            return web.Response(status=401)
        body = await request.json() if request.can_read_body else None
        await asyncio.sleep(self.pause)
        self.seen.append((request.method, request.raw_path, body))
        headers = {"Location": "/elsewhere"} if 300 <= self.status < 400 else {}
        response = web.Response(status=self.status, text="" if self.status == 204 else self.body, headers=headers)
        if self.compressed:
            response.enable_compression(web.ContentCoding.gzip)
        return response


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


def account(**changes: Any) -> EnsureMessagingAccount:
    fields: dict[str, Any] = {
        "host": "127.0.0.1", "admin_secret": ("openstack", "rabbitmq-admin"), "vhost": "no/va", "username": "nova",
        "secret": ("openstack", "nova-mq"),
    }  # fmt: skip
    return EnsureMessagingAccount(**{**fields, **changes})


async def test_missing_parts_of_an_account_are_those_that_rabbitmq_lacks(server: Server) -> None:
    server.status = 200
    assert await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"}) == ""
    assert [method for method, _, _ in server.seen] == ["GET"] * 3
    server.status = 404
    missing = await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"})
    assert missing == "virtual host no/va; user nova; permissions of user nova in no/va"
    server.status = 503
    with pytest.raises(TransientError):
        await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"})


# https://www.rabbitmq.com/docs/passwords has this example, of the password test12.
HASH = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
LONG = base64.b64encode(b"salt" + hashlib.sha512(b"salttest12").digest()).decode()
SHA256, SHA512 = "rabbit_password_hashing_sha256", "rabbit_password_hashing_sha512"


@pytest.mark.parametrize(
    ("algorithm", "stored", "password", "known"),
    [
        (SHA256, HASH, "test12", True),
        (SHA256, HASH, "other", False),
        (SHA256, "", "test12", False),
        (SHA256, "ab", "test12", False),
        (SHA256, None, "test12", False),
        (SHA512, LONG, "test12", True),
        (SHA512, LONG, "other", False),
        ("of_a_plugin", HASH, "other", True),
        (SHA256, HASH, None, True),
    ],
)
async def test_a_password_that_was_changed_is_missing(
    server: Server, algorithm: str, stored: str | None, password: str | None, known: bool
) -> None:
    server.status = 200
    server.body = json.dumps({"name": "nova", "password_hash": stored, "hashing_algorithm": algorithm, "tags": []})
    missing = await RabbitMqMessaging(server.port).missing(
        account(), ADMIN, None if password is None else {"password": password}
    )
    assert missing == ("" if known else "the password of user nova")
    assert len(server.seen) == 3, "no more requests than for the names"


async def test_a_response_that_is_no_object_is_no_loss(server: Server) -> None:
    server.status, server.body = 200, "[]"
    assert await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"}) == ""
    server.body = "<html>"
    with pytest.raises(TransientError, match="invalid JSON"):
        await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"})


async def test_an_account_is_three_puts(server: Server) -> None:
    await RabbitMqMessaging(server.port).account(account(), ADMIN, {"password": "pw"})
    assert server.seen == [
        ("PUT", "/api/vhosts/no%2Fva", {}),
        ("PUT", "/api/users/nova", {"password": "pw", "tags": ""}),
        ("PUT", "/api/permissions/no%2Fva/nova", {"configure": ".*", "write": ".*", "read": ".*"}),
    ]


async def test_removal_ignores_absent_parts(server: Server) -> None:
    server.status = 404
    await RabbitMqMessaging(server.port).account(account(absent=True), ADMIN, {})
    assert [seen[:2] for seen in server.seen] == [("DELETE", "/api/users/nova"), ("DELETE", "/api/vhosts/no%2Fva")]


async def test_a_virtual_host_that_others_use_is_kept(server: Server) -> None:
    await RabbitMqMessaging(server.port).account(account(absent=True, keep_vhost=True), ADMIN, {})
    assert [seen[:2] for seen in server.seen] == [("DELETE", "/api/users/nova")]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, TerminalError), (403, TerminalError), (404, TransientError), (500, TransientError), (503, TransientError)],
)
async def test_errors(server: Server, status: int, kind: type[Exception]) -> None:
    server.status = status
    with pytest.raises(kind) as raised:
        await RabbitMqMessaging(server.port).account(account(), ADMIN, {"password": "pw-x"})
    assert "pw-x" not in str(raised.value)


@pytest.mark.parametrize("status", [301, 307])
async def test_no_redirect_is_followed(server: Server, status: int) -> None:
    """It could lead to any address that the operator reaches, with the method and the password."""
    server.status = status
    with pytest.raises(TransientError, match=f"HTTP {status}$"):
        await RabbitMqMessaging(server.port).account(account(), ADMIN, {"password": "pw"})
    with pytest.raises(TransientError, match=f"HTTP {status}$"):
        await RabbitMqMessaging(server.port).missing(account(), ADMIN, {"password": "pw"})
    assert [method for method, _, _ in server.seen] == ["PUT", "GET"]


async def test_a_wrong_password_names_the_secret(server: Server) -> None:
    with pytest.raises(TerminalError, match="openstack/rabbitmq-admin"):
        await RabbitMqMessaging(server.port).account(account(), {"password": "other"}, {"password": "pw"})


async def test_a_closed_port_is_not_yet() -> None:
    with pytest.raises(TransientError, match="does not respond"):
        await RabbitMqMessaging(1).account(account(), ADMIN, {"password": "pw"})


@pytest.mark.parametrize("status", [200, 500])
async def test_a_huge_response_is_aborted(server: Server, status: int) -> None:
    server.status, server.body = status, json.dumps({"more": "a" * (300 << 10)})
    with pytest.raises(TransientError, match="a response exceeds 256 KiB"):
        await RabbitMqMessaging(port=server.port).missing(account(), ADMIN, {"password": "pw"})


@pytest.mark.parametrize("body", ["[" * 100_000, "nothing"])
async def test_json_that_cannot_be_decoded_is_a_transient_error(server: Server, body: str) -> None:
    server.status, server.body = 200, body
    with pytest.raises(TransientError, match="invalid JSON"):
        await RabbitMqMessaging(port=server.port).missing(account(), ADMIN, {"password": "pw"})


async def test_no_response_is_decompressed(server: Server) -> None:
    server.status, server.body, server.compressed = 200, "{}", True
    with pytest.raises(TransientError, match="invalid JSON"):
        await RabbitMqMessaging(port=server.port).missing(account(), ADMIN, {"password": "pw"})


async def test_all_requests_of_a_call_have_one_deadline(server: Server) -> None:
    """Each response comes in time."""
    server.pause = 0.3
    with pytest.raises(TransientError, match="does not respond: TimeoutError"):
        await RabbitMqMessaging(port=server.port, timeout=0.5).account(account(), ADMIN, {"password": "pw"})
    assert len(server.seen) < 3
