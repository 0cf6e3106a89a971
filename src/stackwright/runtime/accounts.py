"""Whether accounts are still at their providers: a provider that lost its data has lost them, and tells nobody.

An answer is kept for a while, for contracts are looked at at every event. It is not kept over a change of the provider:
one that has come up again is asked at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stackwright.api.kinds import SECRET
from stackwright.core.digest import digest
from stackwright.core.plan import Account, BrokerAccount, CatalogEntry, Key, SqlAccount
from stackwright.core.ports import NotYet, Ports, Refused, secret_data

# Seconds. Less than the pause after which a contract is looked at again, so that each such look asks.
KEPT = 240.0
LONGEST = 10.0


@dataclass(frozen=True)
class _Answer:
    about: str
    until: float


class AccountChecks:
    """core.ports.Accounts by the ports of the providers."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._there: dict[tuple[str, Key], _Answer] = {}

    async def missing(self, action: Account, provider: str) -> str:
        now, name = asyncio.get_running_loop().time(), (action.verb, action.secret)
        about = digest(str(action), provider)
        known = self._there.get(name)
        if known and known.about == about and now < known.until:
            return ""
        self._there = {each: answer for each, answer in self._there.items() if now < answer.until}
        try:
            async with asyncio.timeout(LONGEST):
                found = await self._ask(action)
        except (NotYet, Refused, TimeoutError):
            return ""  # nobody can tell now
        if not found:
            self._there[name] = _Answer(about, now + KEPT)
        return found

    async def _ask(self, action: Account) -> str:
        admin = secret_data(await self._ports.cluster.get(SECRET, action.admin_secret))
        password = secret_data(await self._ports.cluster.get(SECRET, action.secret)).get("password", "")
        if not admin.get("password") or not password:
            return ""
        match action:
            case SqlAccount():
                return await self._ports.sql.missing(action, admin, password)
            case BrokerAccount():
                return await self._ports.broker.missing(action, admin, password)
            case CatalogEntry():
                return await self._ports.identity.missing(action, admin, password)
