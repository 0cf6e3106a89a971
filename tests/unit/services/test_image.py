"""Values of Glance and Placement, derived from a cloud."""

import pytest

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services import glance, placement
from stackwright.services.context import Context, Values
from stackwright.services.declaration import Service
from stackwright.services.values import merged_values

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")


def context(declared: Service, size: Size = "single", **settings: object) -> Context:
    spec = ServiceSpec(size=size, public_domain="cloud.example", storage_class="local")
    parsed = declared.settings.model_validate(settings)
    return Context(declared.name, "openstack", spec, {declared.name: "r/image:1"}, parsed)


def values(declared: Service, size: Size = "single", **settings: object) -> Values:
    return declared.charts[0].values(context(declared, size, **settings))


def store(**volume: str) -> dict[str, object]:
    return {"file": {"fast": {"default": True, "pvc": {"size": "50Gi", **volume}}}}


def test_by_default_images_are_on_a_local_volume() -> None:
    built = values(glance.SERVICE)
    assert built["volume"] == {"store": "images", "class_name": "local", "size": "10Gi"}


@pytest.mark.parametrize(
    ("volume", "class_name", "strategy"),
    [
        ({}, "local", "RollingUpdate"),
        ({"storage_class_name": "local"}, "local", "RollingUpdate"),
        ({"storage_class_name": "network"}, "network", "Recreate"),
    ],
)
def test_pods_are_replaced_as_their_volume_allows(volume: dict[str, str], class_name: str, strategy: str) -> None:
    built = values(glance.SERVICE, backends=store(**volume))
    assert built["volume"] == {"store": "fast", "class_name": class_name, "size": "50Gi"}
    assert built["pod"]["lifecycle"]["upgrades"]["deployments"]["pod_replacement_strategy"] == strategy


def test_a_project_may_fill_the_volume_of_images_and_no_more() -> None:
    conf = values(glance.SERVICE, backends=store())["conf"]["glance"]["DEFAULT"]
    assert (conf["image_size_cap"], conf["user_storage_quota"]) == (50 * 2**30, f"{50 * 2**30}B")
    both = store() | {"rbd": {"other": {}}}
    conf = values(glance.SERVICE, backends=both)["conf"]["glance"]["DEFAULT"]
    assert not {"image_size_cap", "user_storage_quota"} & conf.keys(), "it would count images in Ceph, too"


@pytest.mark.parametrize("settings", [{"services": ["ceph"]}, {"backends": {"cinder": {"volumes": {}}}}])
def test_without_a_file_store_the_chart_gets_no_volume_and_may_have_several_pods(settings: dict[str, object]) -> None:
    asked = context(glance.SERVICE, "tiny", **settings)
    merged = merged_values(glance.SERVICE, asked, glance.SERVICE.charts[0])
    assert merged["volume"]["store"] == "", "if it were absent, the chart's default would apply"
    assert merged["pod"]["replicas"] == {"api": 3}


@pytest.mark.parametrize("size", SIZES)
def test_one_volume_allows_one_pod_of_glance(size: Size) -> None:
    assert values(glance.SERVICE, size)["pod"]["replicas"] == {"api": 1}


def test_larger_clouds_have_more_workers() -> None:
    for declared, ini in ((glance.SERVICE, "glance_api_uwsgi"), (placement.SERVICE, "placement_api_uwsgi")):
        workers = [values(declared, size)["conf"][ini]["uwsgi"]["processes"] for size in SIZES]
        assert workers == sorted(workers)
        assert workers[0] == 1


def test_placement_requests_a_database_for_its_own_section_and_no_bus() -> None:
    asked = placement.SERVICE.contracts(context(placement.SERVICE))
    assert [contract.kind.kind for contract in asked] == ["DatabaseAccount", "KeystoneService"]
    assert asked[0].spec["section"] == "placement_database"
    assert "oslo_messaging_notifications" not in values(placement.SERVICE)["conf"]["placement"]


@pytest.mark.parametrize(("ingress", "url"), [(True, "https://glance.cloud.example"), (False, "http://glance-api.")])
def test_the_catalog_has_the_public_name_of_a_cloud_with_ingress(ingress: bool, url: str) -> None:
    catalog = glance.SERVICE.contracts(context(glance.SERVICE, ingress=ingress))[-1].spec["endpoints"]
    assert catalog["public"].startswith(url)
    assert catalog["internal"] == "http://glance-api.openstack.svc.cluster.local:9292"
