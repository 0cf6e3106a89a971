"""Checks that accounts still exist at their providers, because a provider that lost its data emits no event.

A response is cached for a while, because a contract is reconciled at every event. A change of the provider, such as a
restart, invalidates the cache. At the start of this process, an earlier process's observation of the same provider is
used as a response; otherwise each start would query all accounts at once. Each start still queries a few random
accounts of each provider, so that a loss is noticed even if no process lives long; after a loss all accounts are
queried. A second query must confirm a loss: one response may be wrong, and a recreated account restarts the pods that
use it. An unresponsive provider is skipped for a while, and then queried by one reconcile only, because each request
occupies a worker and a thread.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, replace

from stackwright.api.kinds import SECRET
from stackwright.core.digest import digest
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.objects import is_text, secret_data
from stackwright.core.plan import EnsureAccount, Key
from stackwright.core.ports import CHECK_SECONDS, Ports

# In seconds. KEPT is shorter than the requeue interval of contracts, so that each requeue queries the provider.
KEPT = 240.0
QUIET, FORGOTTEN = 30.0, 3600.0
CONFIRM = 3.0  # between the two queries that prove a loss
SHARES = 10  # a start queries about one of this many accounts,
FEW = 8  # and at most this many per provider, which loses all its data or none


@dataclass(frozen=True)
class _Answer:
    about: str
    until: float


@dataclass(frozen=True)
class _Silence:
    cause: str
    until: float


class AccountChecks:
    """core.ports.Accounts, implemented by the providers."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._there: OrderedDict[tuple[str, Key], _Answer] = OrderedDict()  # oldest response first
        self._silent: dict[str, _Silence] = {}
        self._before = asyncio.get_running_loop().time() + KEPT  # until then, an earlier process's responses are used
        self._start = str(ports.clock.now())
        # Provider → accounts that this start checks; see _is_early.
        self._early: defaultdict[str, set[tuple[str, Key]]] = defaultdict(set)

    async def missing(
        self, action: EnsureAccount, provider: str, changed: bool = False, before: bool = False
    ) -> str | None:
        loop, name = asyncio.get_running_loop(), (action.verb, action.secret)
        now = loop.time()
        if before and now < self._before and not self._is_early(name, provider):
            return ""
        about = digest(str(action), provider, changed)
        known = self._there.get(name)
        if known and known.about == about and now < known.until:
            return ""
        while self._there and (oldest := next(iter(self._there.items())))[1].until <= now:
            del self._there[oldest[0]]
        self._next_to_ask(provider)
        try:
            if found := await self._ask(action, changed):
                await asyncio.sleep(CONFIRM)
                found = await self._ask(action, changed)
        except TerminalError:
            return None  # the action that creates the account reports the cause
        except (TransientError, TimeoutError) as error:
            cause = str(error) or f"no response within {CHECK_SECONDS} s"
            self._silent[provider] = _Silence(cause, loop.time() + QUIET)
            raise TransientError(cause) from None
        self._silent.pop(provider, None)
        if found:
            self._before = now
        elif found is not None:
            self._there[name] = _Answer(about, now + KEPT)
            self._there.move_to_end(name)
        return found

    def _is_early(self, name: tuple[str, Key], provider: str) -> bool:
        """Whether this start queries an account that an earlier process observed: the same few per provider."""
        early = self._early[provider]
        if name not in early and len(early) < FEW and not int(digest(self._start, str(name)), 16) % SHARES:
            early.add(name)
        return name in early

    def _next_to_ask(self, provider: str) -> None:
        """Raises TransientError while a provider is skipped, and while another check queries it again."""
        now = asyncio.get_running_loop().time()
        self._silent = {each: silence for each, silence in self._silent.items() if now < silence.until + FORGOTTEN}
        if silence := self._silent.get(provider):
            if now < silence.until:
                raise TransientError(silence.cause)
            self._silent[provider] = replace(silence, until=now + QUIET)

    async def _ask(self, action: EnsureAccount, changed: bool) -> str | None:
        async with asyncio.timeout(CHECK_SECONDS):
            return await self._missing(action, changed)

    async def _missing(self, action: EnsureAccount, changed: bool) -> str | None:
        admin = secret_data(await self._ports.cluster.get(SECRET, action.admin_secret))
        own = secret_data(await self._ports.cluster.get(SECRET, action.secret))
        if not admin.get("password") or not (changed or all(map(own.get, action.passwords))):
            return None
        passwords = None if changed else {name: own[name] for name in action.passwords}
        if not all(map(is_text, (*admin.values(), *(passwords or {}).values()))):
            return None  # the next change of the account reports it
        return await self._ports.provider(action).missing(action, admin, passwords)
