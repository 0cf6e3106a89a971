"""Each API value of a feature names the end-to-end test that uses it, or is marked as rendered only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.cloud.support import NAMED, TESTED, accepted, untested
from stackwright.services.cinder.features import RBD
from stackwright.services.registry import PRESETS
from stackwright.services.tested import RENDERED_ONLY, UNTESTED
from support.paths import ROOT

DRIVER = "features.cinder.volume.backends.<name>.values.conf.backends.<name>.volume_driver"
CLOUDS = ("cloud", "storage", "identity", "ovn", "orchestration", "key-manager", "dns")
"""Examples that the end-to-end tests use."""
IMPLIED = {
    *(("features.services", name) for name in (*PRESETS["core"], "coordination")),
    ("features.glance.backends", "file"),
    ("features.glance.backends", "rbd"),
    ("features.neutron.tenant_network_types", "vxlan"),
    (DRIVER, RBD),
}
"""What they have without a word: by their preset, what a service requires, or by a default of a service."""


def spec(**features: Any) -> OpenStackDeploymentSpec:
    said = {"openstack_version": "epoxy", "preset": "core", "size": "single", "features": features}
    return OpenStackDeploymentSpec.model_validate(said)


def test_the_table_has_exactly_the_values_that_the_api_accepts() -> None:
    assert {(path, value) for path in TESTED for value in TESTED[path]} == set(accepted())
    assert ("features.neutron.backend", "ml2/ovn") in set(accepted())
    assert ("features.glance.backends", "cinder") in set(accepted())


def test_each_named_test_exists() -> None:
    texts = [path.read_text() for path in (ROOT / "tests/e2e").rglob("test_*.py")]
    named = {test for values in TESTED.values() for test in values.values() if test != RENDERED_ONLY}
    assert [test for test in named if not any(f"def {test}(" in text for text in texts)] == []


def cloud_of(example: str) -> OpenStackDeploymentSpec:
    documents = yaml.safe_load_all((ROOT / f"examples/{example}.yaml").read_text())
    cloud = next(each for each in documents if each["kind"] == OpenStackDeployment.KIND.kind)
    return OpenStackDeploymentSpec.model_validate(cloud["spec"])


@pytest.mark.parametrize("example", CLOUDS)
def test_clouds_of_tests_use_no_untested_value(example: str) -> None:
    assert list(untested(cloud_of(example))) == []


def values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Paths and values of a cloud, including defaults."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from values(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from values(each, f"{path}.{'<name>' if path in NAMED else name}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from values(each, path)
    else:
        yield path, value


def test_tested_values_are_in_a_cloud_of_tests_or_in_the_named_test() -> None:
    """Else any test could be named."""
    there = set(IMPLIED)
    for spec_ in map(cloud_of, CLOUDS):
        for name in ("preset", "size", "features"):
            there |= {
                (path, value) for path, value in values(getattr(spec_, name), name) if isinstance(value, str | bool)
            }
    texts = [path.read_text() for path in (ROOT / "tests/e2e").rglob("test_*.py")]

    def says(test: str, path: str, value: object) -> bool:
        word = path.rpartition(".")[2]
        text = next(text for text in texts if f"def {test}(" in text)
        return any(f'"{word}": {said}' in text for said in (value, f'"{value}"'))

    named = [(path, value, test) for path in TESTED for value, test in TESTED[path].items() if test != RENDERED_ONLY]
    assert len(named) > 30
    assert [each for each in named if each[:2] not in there and not says(each[2], *each[:2])] == []


def test_rendered_only_values_are_named() -> None:
    assert list(untested(spec(services=["~ceph"]))) == [("features.services", "~ceph", UNTESTED)]
    assert list(untested(spec(nova={"libvirt": {"tls": {"enabled": False}}}))) == [
        ("features.nova.libvirt.tls.enabled", False, UNTESTED)
    ]
    stores: dict[str, Any] = {"backends": {"cinder": {"volumes": {}}}}
    assert list(untested(spec(glance=stores))) == [("features.glance.backends", "cinder", UNTESTED)]


@pytest.mark.parametrize(("driver", "told"), [("cinder.volume.drivers.rbd.RBDDriver", False), ("nfs.Driver", True)])
def test_a_back_end_of_cinder_is_recognised_by_its_driver(driver: str, told: bool) -> None:
    backend = {"values": {"conf": {"backends": {"mine": {"volume_driver": driver}}}}}
    path = DRIVER.replace("backends.<name>", "backends.disks", 1).replace("<name>", "mine")
    found = list(untested(spec(cinder={"volume": {"backends": {"disks": backend}}})))
    assert found == ([(path, driver, UNTESTED)] if told else [])
