"""Virtual hosts and users in RabbitMQ, over its management HTTP API: idempotent PUT and DELETE requests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from stackwright.core.plan import BrokerAccount
from stackwright.core.ports import TerminalError, TransientError

PORT = 15672
_ALL = {"configure": ".*", "write": ".*", "read": ".*"}
Request = tuple[str, str, Mapping[str, Any] | None]


class RabbitBroker:
    """core.ports.Provider of BrokerAccount."""

    def __init__(self, port: int = PORT, timeout: float = 10) -> None:
        self._port = port
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=3)

    async def account(self, action: BrokerAccount, admin: Mapping[str, str], password: str) -> None:
        await self._send(action, admin, requests(action, password))

    async def missing(self, action: BrokerAccount, admin: Mapping[str, str], password: str | None) -> str:
        absent = await self._send(action, admin, checks(action))
        return "; ".join(what for what, path in parts(action).items() if path in absent)

    async def _send(self, action: BrokerAccount, admin: Mapping[str, str], wanted: list[Request]) -> set[str]:
        """Send all requests in order; returns the paths that were not found."""
        if not admin.get("password"):
            raise TerminalError(f"Secret {'/'.join(action.admin_secret)} has no key password")
        login = f"{admin.get('username') or 'admin'}:{admin['password']}"
        headers = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        base = f"http://{action.host}:{self._port}/api/"
        absent = set()
        try:
            async with aiohttp.ClientSession(headers=headers, timeout=self._timeout) as session:
                for method, path, body in wanted:
                    # The path is quoted already: a slash in a vhost must stay %2F.
                    url = URL(base + path, encoded=True)
                    async with session.request(method, url, json=body) as response:
                        if response.status == 404 and method != "PUT":
                            absent.add(path)
                        elif response.status >= 400:
                            raise error_of(action, response.status, await response.text())
            return absent
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransientError(f"RabbitMQ at {action.host} does not respond: {type(error).__name__}") from None


def requests(action: BrokerAccount, password: str) -> list[Request]:
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


def parts(action: BrokerAccount) -> dict[str, str]:
    """Description → path in the API, for each part of an account."""
    vhost, user = quote(action.vhost, safe=""), quote(action.username, safe="")
    return {
        f"virtual host {action.vhost}": f"vhosts/{vhost}",
        f"user {action.username}": f"users/{user}",
        f"permissions of user {action.username} in {action.vhost}": f"permissions/{vhost}/{user}",
    }


def checks(action: BrokerAccount) -> list[Request]:
    return [("GET", path, None) for path in parts(action).values()]


def error_of(action: BrokerAccount, status: int, text: str) -> Exception:
    where = f"RabbitMQ at {action.host}"
    if status in (401, 403):
        secret = "/".join(action.admin_secret)
        return TerminalError(f"{where} refuses the administrator's password: check the password in Secret {secret}")
    if status >= 500 or status in (404, 408, 429):
        return TransientError(f"{where} is unavailable: HTTP {status}")
    return TerminalError(f"{where} refuses to {action.target}: HTTP {status} {' '.join(text.split())[:300]}")
