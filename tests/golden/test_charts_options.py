"""An option is in a configuration file once: of two lines the program uses the last, perhaps not the intended one.

Changed options of Ceph are read by a restart.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services.declaration import Context
from stackwright.services.rabbitmq.values import SIZES
from stackwright.services.registry import SERVICES
from stackwright.services.values import merged_values
from support.paths import ROOT
from tests.golden.test_charts import CASES, helm


def render(chart: str, size: Size, conf: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    declared = next(each for each in SERVICES if each.name == chart)
    context = Context(chart, "openstack", ServiceSpec(size=size), {}, declared.settings())
    files = []
    for name, values in (("base", merged_values(declared, context, declared.charts[0])), ("user", {"conf": conf})):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(values))
        files.append(f"--values={path}")
    return helm("template", chart, str(ROOT / "charts" / chart), "--namespace=openstack", *files)


def rabbitmq(size: Size, conf: dict[str, Any], folder: Path) -> list[tuple[str, str]]:
    done = render("rabbitmq", size, {"rabbitmq": conf}, folder)
    assert done.returncode == 0, done.stderr
    (text,) = (
        item["data"]["rabbitmq.conf"]
        for item in yaml.safe_load_all(done.stdout)
        if "rabbitmq.conf" in item.get("data", {})
    )
    return [(name, value) for name, _, value in (line.partition(" = ") for line in text.splitlines())]


@pytest.mark.parametrize("size", get_args(Size))
def test_the_bus_has_the_memory_of_its_size(size: Size, tmp_path: Path) -> None:
    options = rabbitmq(size, {}, tmp_path)
    assert [name for name, count in Counter(name for name, _ in options).items() if count > 1] == []
    assert dict(options)["vm_memory_high_watermark.absolute"] == f"{SIZES[size].memory}MiB"


def test_a_nested_override_replaces_a_default_of_the_bus(tmp_path: Path) -> None:
    wanted = {
        "vm_memory_high_watermark": {"absolute": "3GB"},
        "disk_free_limit": {"absolute": "1GB"},
        "listeners": {"tcp": {"default": 5673}},
        "management": {"tcp": {"port": 15673}},
        "management_agent": {"disable_metrics_collector": False},
        "log": {"file": True},
    }
    options = rabbitmq("tiny", wanted, tmp_path)
    assert [name for name, count in Counter(name for name, _ in options).items() if count > 1] == []
    assert {
        "vm_memory_high_watermark.absolute": "3GB", "disk_free_limit.absolute": "1GB", "listeners.tcp.default": "5673",
        "management.tcp.port": "15673", "management_agent.disable_metrics_collector": "false", "log.file": "true",
        "log.console": "true", "log.console.level": "warning",
    }.items() <= dict(options).items()  # fmt: skip


@pytest.mark.parametrize(
    ("chart", "conf", "named"),
    [
        ("rabbitmq", {"rabbitmq": {"vm_memory_high_watermark.absolute": "3GB"}}, "vm_memory_high_watermark.absolute"),
        ("rabbitmq", {"rabbitmq": {"log": {"console": {"level": "debug"}}}}, "log.console.level"),
        ("mariadb", {"mariadb": {"mysqld": {"max-connections": 3000}}}, "max_connections"),
        ("etcd", {"etcd": {"quota-backend-bytes": 1}}, "quota_backend_bytes"),
    ],
)
def test_an_option_in_two_spellings_is_refused(chart: str, conf: dict[str, Any], named: str, tmp_path: Path) -> None:
    done = render(chart, "tiny", conf, tmp_path)
    assert done.returncode != 0
    assert f"option {named} is there twice" in done.stderr.replace("-", "_")


@pytest.mark.parametrize(
    ("chart", "conf"),
    [
        ("keystone", {"keystone": {"DEFAULT": {"a": [{"x": 1}]}}}),
        ("keystone", {"keystone": {"DEFAULT": {"a": [["x"]]}}}),
        ("keystone", {"keystone": {"DEFAULT": {"a": {"type": "multistring", "values": [{"x": 1}]}}}}),
        ("rabbitmq", {"rabbitmq": {"a": ["x"]}}),
    ],
)
def test_a_mapping_or_list_inside_a_value_is_refused_by_its_option(
    chart: str, conf: dict[str, Any], tmp_path: Path
) -> None:
    done = render(chart, "tiny", conf, tmp_path)
    assert done.returncode != 0
    assert "option a: mappings and lists are not allowed inside a value" in done.stderr


def test_an_omitted_option_may_have_another_spelling(tmp_path: Path) -> None:
    done = render(
        "mariadb", "tiny", {"mariadb": {"mysqld": {"max_connections": None, "max-connections": 3000}}}, tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "max-connections = 3000" in done.stdout


def options_of_ceph(case: Path) -> set[str]:
    """Components whose pods read the options of their client in Ceph, and not only its key."""
    found = set()
    for item in yaml.load_all(case.with_name("rendered.yaml").read_text(), yaml.CSafeLoader):
        template = item["spec"]["template"] if item["kind"] in ("Deployment", "StatefulSet", "DaemonSet") else {}
        if "{'key': 'rbd.conf'" in str(template):
            found.add(template["metadata"]["labels"]["component"])
    return found


def test_pods_that_read_options_of_ceph_restart_with_them() -> None:
    declared = {chart.name: set(chart.in_ceph) for service in SERVICES for chart in service.charts if chart.in_ceph}
    found: dict[str, set[str]] = {}
    for case in CASES:
        if components := options_of_ceph(case):
            found.setdefault(case.parents[1].name, set()).update(components)
    assert declared == found
