"""The lines of a plan about databases and virtual machines whose services are deleted."""

from __future__ import annotations

import pytest

from stackwright.cli.change.plan import _text
from stackwright.cli.ui.steps import lines
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.forecast.entries import Entry
from stackwright.forecast.losses import losses
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Request
from tests.scenario.forecast.test_losses import whole
from tests.scenario.forecast.test_plan import CLOUD, NOW, applied, told
from tests.scenario.world import SETTINGS, cloud_object

MACHINES = "access to the virtual machines of Nova openstack/nova, which keep running"


async def without(*services: str) -> list[Entry]:
    wanted = cloud_object(whole=True, features={"services": [f"~{name}" for name in services]})
    return (await forecast(await whole(), SETTINGS, applied(wanted), NOW + 200))[0]


async def deleted() -> list[Entry]:
    request = Request("openstack", delete=((OpenStackDeployment.KIND, CLOUD),))
    return (await forecast(await whole(), SETTINGS, request, NOW + 200))[0]


async def test_the_database_of_a_removed_service_is_kept_and_is_no_loss() -> None:
    found = await without("image", "dashboard", "compute", "networking", "placement")
    assert "database glance of MariaDB openstack/mariadb" in told(found, "kept")
    assert not [each for each in losses(found) if "atabase" in each]


async def test_no_database_is_kept_if_its_server_is_deleted() -> None:
    found = await deleted()
    assert told(found, "kept") == []
    assert "database glance of MariaDB openstack/mariadb" in told(found, "lost")


@pytest.mark.parametrize("whose", ["cloud", "service"])
async def test_access_to_virtual_machines_is_lost_with_nova(whose: str) -> None:
    found = await (deleted() if whose == "cloud" else without("compute", "dashboard"))
    assert [each for each in losses(found) if each.startswith(MACHINES)]
    assert not [each for each in losses(await without("dashboard")) if each.startswith(MACHINES)]


async def test_the_text_of_a_deletion_does_not_say_that_databases_remain() -> None:
    found = await deleted()
    text = "\n".join(_text(found, {}, lines(found)))
    assert "! lost: database glance of MariaDB openstack/mariadb" in text
    assert "remain" not in text
