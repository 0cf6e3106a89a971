"""What each size configures fits into the limits of its containers, and what fills a disk into its volume."""

from typing import Any, get_args

import pytest
import yaml

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services.context import Context
from stackwright.services.registry import SERVICES
from stackwright.services.values import merged_values
from support.paths import ROOT

UNITS = {"Mi": 1, "Gi": 1024, "M": 1, "G": 1024, "MiB": 1}
WORKER = 200  # MiB that a worker of an OpenStack service is assumed to take at most
SIZES = get_args(Size)


def mebibytes(quantity: str) -> float:
    number = quantity.rstrip("MGiB")
    return float(number) * UNITS[quantity.removeprefix(number)]


def overlaid(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return under | {key: overlaid(under.get(key), value) for key, value in over.items()}


def values(size: str, chart: str) -> dict[str, Any]:
    """Of a chart in a cloud of that size, its own defaults included."""
    for declared in SERVICES:
        for each in declared.charts:
            if each.name == chart:
                context = Context(declared.name, "openstack", ServiceSpec(size=size), {}, declared.settings())
                defaults = yaml.safe_load((ROOT / "charts" / chart / "values.yaml").read_text())
                found: dict[str, Any] = overlaid(defaults, merged_values(declared, context, each))
                return found
    raise KeyError(chart)


def limit(found: dict[str, Any], component: str) -> float:
    resources = found["pod"]["resources"][component]
    assert mebibytes(resources["requests"]["memory"]) <= mebibytes(resources["limits"]["memory"])
    return mebibytes(resources["limits"]["memory"])


each_size = pytest.mark.parametrize("size", SIZES)


@each_size
def test_the_database_fits_into_its_limit_and_its_volume(size: str) -> None:
    found = values(size, "mariadb")
    mysqld = found["conf"]["mariadb"]["mysqld"]
    pool = mebibytes(mysqld["innodb_buffer_pool_size"])
    # The server and Galera's cache: 400 MiB; half a MiB for each connection, as when all of them work.
    assert pool * 1.1 + 400 + mysqld["max_connections"] * 0.5 <= limit(found, "server")
    assert mebibytes(found["volume"]["size"]) >= max(5 * 1024, 4 * pool)


@each_size
def test_the_bus_fits_into_its_limit_and_its_volume(size: str) -> None:
    found = values(size, "rabbitmq")
    watermark = mebibytes(found["conf"]["rabbitmq"]["vm_memory_high_watermark"]["absolute"])
    assert watermark * 1.4 <= limit(found, "server")
    assert mebibytes(found["volume"]["size"]) >= 2 * watermark  # memory may be written to disk


@each_size
def test_the_locks_fit_into_their_limit(size: str) -> None:
    found = values(size, "etcd")
    assert found["conf"]["etcd"]["quota_backend_bytes"] / 2**20 <= limit(found, "server") / 2


def test_the_bus_of_a_larger_cloud_has_more_processors() -> None:
    schedulers = [values(size, "rabbitmq")["conf"]["schedulers"] for size in ("single", "tiny", "small", "medium")]
    assert schedulers == sorted(set(schedulers))


@each_size
def test_the_cache_fits_into_its_limit(size: str) -> None:
    found = values(size, "memcached")
    assert found["conf"]["memcached"]["memory"] * 1.2 + 64 <= limit(found, "server")


@each_size
def test_a_project_stores_no_more_images_than_the_volume_has(size: str) -> None:
    """The volume may be a directory of a node that also has the databases of the control plane."""
    found = values(size, "glance")
    conf = found["conf"]["glance"]["DEFAULT"]
    volume = mebibytes(found["volume"]["size"]) * 2**20
    assert 0 < conf["image_size_cap"] <= volume
    assert 0 < int(conf["user_storage_quota"].removesuffix("B")) <= volume


@each_size
def test_virtual_machines_leave_disk_to_their_node(size: str) -> None:
    assert values(size, "nova")["conf"]["nova"]["DEFAULT"]["reserved_host_disk_mb"] >= 10 * 1024


@each_size
@pytest.mark.parametrize(
    ("chart", "component", "server"),
    [
        ("keystone", "api", "keystone_api_uwsgi"), ("glance", "api", "glance_api_uwsgi"),
        ("placement", "api", "placement_api_uwsgi"), ("cinder", "api", "cinder_api_uwsgi"),
        ("neutron", "server", "neutron_api_uwsgi"), ("horizon", "horizon", "horizon_uwsgi"),
        ("nova", "api-osapi", "nova_api_uwsgi"), ("nova", "api-metadata", "nova_metadata_uwsgi"),
    ],
)  # fmt: skip
def test_the_workers_of_an_api_fit_into_its_limit(size: str, chart: str, component: str, server: str) -> None:
    found = values(size, chart)
    assert (1 + found["conf"][server]["uwsgi"]["processes"]) * WORKER <= limit(found, component)


@each_size
def test_the_workers_of_other_processes_fit_into_their_limits(size: str) -> None:
    nova, neutron = values(size, "nova"), values(size, "neutron")
    for component in ("conductor", "scheduler"):
        assert (1 + nova["conf"]["nova"][component]["workers"]) * WORKER <= limit(nova, component)
    server = neutron["conf"]["neutron"]["DEFAULT"]
    workers = server["rpc_workers"] + server["rpc_state_report_workers"]
    assert (1 + workers) * WORKER <= limit(neutron, "rpc-server")
