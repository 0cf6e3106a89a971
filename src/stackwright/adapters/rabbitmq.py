"""Virtual hosts and users in RabbitMQ, over its management HTTP API: idempotent PUT and DELETE requests."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.plan.accounts import EnsureMessagingAccount

PORT = 15672
MOST = 256 << 10  # bytes of one response
_ALL = {"configure": ".*", "write": ".*", "read": ".*"}
_HASHES = {"rabbit_password_hashing_sha256": hashlib.sha256, "rabbit_password_hashing_sha512": hashlib.sha512}
Request = tuple[str, str, Mapping[str, Any] | None]


class RabbitMqMessaging:
    """core.ports.Provider of EnsureMessagingAccount."""

    def __init__(self, port: int = PORT, timeout: float = 30) -> None:
        self._port = port
        self._seconds = timeout  # for all requests of a call
        self._timeout = aiohttp.ClientTimeout(connect=3)

    async def account(self, action: EnsureMessagingAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        await self._send(action, admin, requests(action, own.get("password", "")))

    async def missing(
        self, action: EnsureMessagingAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        """The password is compared with its hash: to log in, an account would need rights in the management API."""
        found = await self._send(action, admin, checks(action))
        lost = [what for what, path in parts(action).items() if found[path] is None]
        user = found[f"users/{quote(action.username, safe='')}"]
        if user is not None and own is not None and not is_password(user, own["password"]):
            lost.append(f"the password of user {action.username}")
        return "; ".join(lost)

    async def _send(
        self, action: EnsureMessagingAccount, admin: Mapping[str, str], wanted: list[Request]
    ) -> dict[str, Mapping[str, Any] | None]:
        """Send all requests in order; returns the object at each path, empty if the response has none, and None for
        those that were not found.
        """
        if not admin.get("password"):
            raise TerminalError(f"Secret {'/'.join(action.admin_secret)} has no key password")
        login = f"{admin.get('username') or 'admin'}:{admin['password']}"
        headers = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        base = f"http://{action.host}:{self._port}/api/"
        found: dict[str, Mapping[str, Any] | None] = {}
        try:
            async with (
                asyncio.timeout(self._seconds),
                # A compressed response could become one of any size.
                aiohttp.ClientSession(headers=headers, timeout=self._timeout, auto_decompress=False) as session,
            ):
                for method, path, body in wanted:
                    # The path is quoted already: a slash in a vhost must stay %2F.
                    url = URL(base + path, encoded=True)
                    async with session.request(method, url, json=body, allow_redirects=False) as response:
                        if response.status == 404 and method != "PUT":
                            found[path] = None
                        elif response.status >= 300:
                            text = (await self._read(action, response)).decode(errors="replace")
                            raise error_of(action, response.status, text)
                        else:
                            answer = json.loads(await self._read(action, response) or "{}") if method == "GET" else {}
                            found[path] = answer if isinstance(answer, dict) else {}
            return found
        except (ValueError, RecursionError):
            raise TransientError(f"RabbitMQ at {action.host} responds with invalid JSON") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransientError(f"RabbitMQ at {action.host} does not respond: {type(error).__name__}") from None

    @staticmethod
    async def _read(action: EnsureMessagingAccount, response: aiohttp.ClientResponse) -> bytes:
        found = bytearray()
        async for piece in response.content.iter_any():
            found += piece
            if len(found) > MOST:
                raise TransientError(f"RabbitMQ at {action.host}: a response exceeds {MOST >> 10} KiB")
        return bytes(found)


def requests(action: EnsureMessagingAccount, password: str) -> list[Request]:
    """Requests that create, update or remove the account, in order: method, path, body."""
    vhost, user = quote(action.vhost, safe=""), quote(action.username, safe="")
    if action.absent:
        gone: list[Request] = [("DELETE", f"users/{user}", None), ("DELETE", f"vhosts/{vhost}", None)]
        return gone[:1] if action.keep_vhost else gone
    return [
        ("PUT", f"vhosts/{vhost}", {}),
        ("PUT", f"users/{user}", {"password": password, "tags": ""}),
        ("PUT", f"permissions/{vhost}/{user}", _ALL),
    ]


def parts(action: EnsureMessagingAccount) -> dict[str, str]:
    """Description → path in the API, for each part of an account."""
    vhost, user = quote(action.vhost, safe=""), quote(action.username, safe="")
    return {
        f"virtual host {action.vhost}": f"vhosts/{vhost}",
        f"user {action.username}": f"users/{user}",
        f"permissions of user {action.username} in {action.vhost}": f"permissions/{vhost}/{user}",
    }


def checks(action: EnsureMessagingAccount) -> list[Request]:
    return [("GET", path, None) for path in parts(action).values()]


def is_password(user: Mapping[str, Any], password: str) -> bool:
    """Whether a password is that of a user of RabbitMQ, by its hash: base64 of a salt of four bytes and the digest of
    salt and password. True if its algorithm is not known. https://www.rabbitmq.com/docs/passwords
    """
    algorithm = _HASHES.get(str(user.get("hashing_algorithm")))
    if algorithm is None:
        return True
    try:
        stored = base64.b64decode(str(user.get("password_hash") or ""), validate=True)
    except ValueError:
        return False
    return hmac.compare_digest(algorithm(stored[:4] + password.encode()).digest(), stored[4:])


def error_of(action: EnsureMessagingAccount, status: int, text: str) -> Exception:
    where = f"RabbitMQ at {action.host}"
    if status in (401, 403):
        secret = "/".join(action.admin_secret)
        return TerminalError(f"{where} refuses the administrator's password: check the password in Secret {secret}")
    if status < 400 or status >= 500 or status in (404, 408, 429):
        return TransientError(f"{where} is unavailable: HTTP {status}")
    return TerminalError(f"{where} refuses to {action.target}: HTTP {status} {' '.join(text.split())[:300]}")
