"""Each value of a feature that the API accepts says which end-to-end test uses it, or that it is rendered only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.api.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.services.support import DRIVER, TESTED, accepted, untested

ROOT = Path(__file__).parents[2]


def spec(**features: Any) -> OpenStackDeploymentSpec:
    said = {"openstack_version": "epoxy", "preset": "core", "size": "single", "features": features}
    return OpenStackDeploymentSpec.model_validate(said)


def test_the_table_has_what_the_api_accepts_and_nothing_else() -> None:
    assert {(path, value) for path in TESTED for value in TESTED[path]} == set(accepted())
    assert ("features.neutron.backend", "ml2/ovn") in set(accepted())
    assert ("features.glance.backends", "cinder") in set(accepted())


def test_each_test_that_is_named_is_there() -> None:
    texts = [path.read_text() for path in (ROOT / "tests/e2e").rglob("test_*.py")]
    named = {test for values in TESTED.values() for test in values.values() if test}
    assert [test for test in named if not any(f"def {test}(" in text for text in texts)] == []


@pytest.mark.parametrize("example", ["cloud", "storage", "identity"])
def test_a_cloud_of_the_tests_asks_for_nothing_untested(example: str) -> None:
    documents = yaml.safe_load_all((ROOT / f"examples/{example}.yaml").read_text())
    cloud = next(each for each in documents if each["kind"] == OpenStackDeployment.KIND.kind)
    assert list(untested(OpenStackDeploymentSpec.model_validate(cloud["spec"]))) == []


def test_what_is_rendered_only_is_named() -> None:
    assert list(untested(spec(neutron={"backend": "ml2/ovn"}))) == [("features.neutron.backend", "ml2/ovn")]
    assert list(untested(spec(services=["~ceph"]))) == [("features.services", "~ceph")]
    assert list(untested(spec(nova={"libvirt": {"tls": {"enabled": False}}}))) == [
        ("features.nova.libvirt.tls.enabled", False)
    ]
    stores: dict[str, Any] = {"backends": {"cinder": {"volumes": {}}}}
    assert list(untested(spec(glance=stores))) == [("features.glance.backends", "cinder")]


@pytest.mark.parametrize(("driver", "told"), [("cinder.volume.drivers.rbd.RBDDriver", False), ("nfs.Driver", True)])
def test_a_back_end_of_cinder_is_told_by_its_driver(driver: str, told: bool) -> None:
    backend = {"values": {"conf": {"backends": {"mine": {"volume_driver": driver}}}}}
    path = DRIVER.replace("backends.<name>", "backends.disks", 1).replace("<name>", "mine")
    found = list(untested(spec(cinder={"volume": {"backends": {"disks": backend}}})))
    assert found == ([(path, driver)] if told else [])
