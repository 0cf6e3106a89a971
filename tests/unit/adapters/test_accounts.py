"""Each kind of account has a provider, in the operator and in memory."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from stackwright.adapters.accounts import providers
from stackwright.core.errors import TerminalError
from stackwright.core.plan import EnsureAccount
from stackwright.core.plan.accounts import EnsureDatabaseAccount
from stackwright.core.ports import Ports, Providers, absent
from stackwright.runtime.memory import MemoryAccounts


@pytest.mark.parametrize("found", [providers(), MemoryAccounts().providers], ids=["operator", "memory"])
def test_each_kind_of_account_has_a_provider(found: Providers) -> None:
    assert set(found) == set(EnsureAccount.__subclasses__())
    for action, provider in found.items():
        assert get_type_hints(provider.account)["action"] is action


def test_a_process_without_a_provider_reports_the_account_that_it_cannot_create() -> None:
    nothing = absent("other system")
    where = {"admin_secret": ("n", "admin"), "secret": ("n", "x")}
    action = EnsureDatabaseAccount(host="db", database="d", username="u", grants=(), **where)
    with pytest.raises(TerminalError, match="no provider of accounts to create user u, database d at db"):
        Ports(nothing, nothing, nothing, nothing).provider(action)
