"""An operator that is cut off from the Kubernetes API changes nothing elsewhere: another one may run already.

The same of its calls to OpenStacks: `test_who_cannot_read_the_credentials_changes_nothing` in
adapters/openstack/tenant/test_clouds.py.
"""

from dataclasses import replace
from unittest.mock import AsyncMock

import pytest

from stackwright.adapters.helm.command import HelmCli
from stackwright.core.errors import Unreachable
from stackwright.core.plan import DeleteAgents, Inventory, Publish
from stackwright.core.plan.accounts import EnsureDatabaseAccount, EnsureIdentityAccount, EnsureMessagingAccount
from stackwright.core.ports import Ports
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, SeededEntropy
from tests.unit.adapters.helm.test_helm import chart, program, upgrade

ADMIN, SECRET = ("n", "admin"), ("n", "x")
OWNER = {"metadata": {"namespace": "n", "name": "owner", "uid": "u"}}
SPEC = {"serviceName": "nova", "username": "nova"}
SECRETS = {"admin_secret": ADMIN, "secret": SECRET}
ACCOUNTS = (
    EnsureDatabaseAccount(host="db", database="nova", username="nova", grants=("ALL",), **SECRETS),
    EnsureMessagingAccount(host="mq", vhost="nova", username="nova", **SECRETS),
    EnsureIdentityAccount(spec=SPEC, **SECRETS),
)
ACTIONS = [
    *(replace(each, absent=absent) for each in ACCOUNTS for absent in (False, True)),
    LOOK := Inventory(("n", "held"), OWNER, "image", ("file",), ADMIN),
    DeleteAgents(LOOK, ("nova-compute@node1",)),
    Publish(("n", "urls"), OWNER, ADMIN, ("url",), "d"),
]


class CutOff:
    """A cluster that gives no response."""

    def __getattr__(self, verb):
        async def call(*_):
            raise Unreachable(f"{verb}: the Kubernetes API cannot be reached")

        return call


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.verb} {action.target}")
async def test_no_account_is_changed(action):
    outside = {name: AsyncMock() for name in ("helm", "contents", "agents")}
    provider = AsyncMock()
    providers = dict.fromkeys(map(type, ACCOUNTS), provider)
    with pytest.raises(Unreachable):
        await execute(
            [action], Ports(CutOff(), clock=FrozenClock(), entropy=SeededEntropy(), providers=providers, **outside), "m"
        )
    assert not [call for port in (provider, *outside.values()) for call in port.mock_calls]


@pytest.mark.parametrize("verb", ["upgrade", "rollback", "uninstall"])
async def test_helm_is_not_started(verb, tmp_path):
    chart(tmp_path)
    helm = HelmCli(tmp_path / "charts", binary=program(tmp_path, f"touch {tmp_path}/ran"), records=CutOff())
    release = ("openstack", "keystone")
    arguments = {"upgrade": [upgrade()], "rollback": [release, 1, ""], "uninstall": [release]}
    with pytest.raises(Unreachable):
        await getattr(helm, verb)(*arguments[verb])
    helm.close()
    assert not (tmp_path / "ran").exists()
