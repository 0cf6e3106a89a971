"""Values of Cinder and etcd, derived from a cloud."""

import re

import pytest
from pydantic import ValidationError

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services import cinder, etcd
from stackwright.services.cinder import values as cinder_values
from stackwright.services.cinder.features import CEPH_BACKUP, RBD, SWIFT_BACKUP, CinderFeatures
from stackwright.services.context import Context, Values
from stackwright.services.declaration import Contract, Service

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")
NFS = "cinder.volume.drivers.nfs.NfsDriver"
LOCKED = ["block-storage", "ceph", "coordination"]


def context(declared: Service, size: Size = "single", **settings: object) -> Context:
    spec = ServiceSpec(size=size, public_domain="cloud.example", storage_class="local")
    images = {"cinder": "r/cinder:1", "keystoneclient": "r/client:1", "etcd": "r/etcd:1"}
    return Context(declared.name, "openstack", spec, images, declared.settings.model_validate(settings))


def values(size: Size = "single", **settings: object) -> Values:
    return cinder.SERVICE.charts[0].values(context(cinder.SERVICE, size, **settings))


def contracts(**settings: object) -> dict[str, Contract]:
    return {found.kind.kind: found for found in cinder.SERVICE.contracts(context(cinder.SERVICE, **settings))}


def backend(*, create_volume_type: bool = True, **sections: dict[str, object]) -> dict[str, object]:
    return {"create_volume_type": create_volume_type, "values": {"conf": {"backends": sections}}}


def volumes(**backends: dict[str, object]) -> dict[str, object]:
    return {"volume": {"backends": backends}, "backup": {"enabled": False}}


def test_by_default_volumes_are_in_ceph() -> None:
    built = values()
    assert list(built["conf"]["backends"]) == ["rbd"]
    assert built["conf"]["backends"]["rbd"]["volume_driver"] == RBD
    assert built["bootstrap"] == {
        "volume_types": {"rbd": {"extra_specs": {"volume_backend_name": "rbd"}}},
        "default_type": "rbd",
    }
    assert built["secrets"]["ceph"] == {"cinder": "cinder-ceph"}
    assert built["conf"]["privileged_volume"] is False
    assert cinder.SERVICE.requires(context(cinder.SERVICE).settings) == (
        "database",
        "messaging",
        "identity",
        "coordination",
        "ceph",
    )


def test_back_ends_and_backups_request_their_pools_from_ceph() -> None:
    spec = contracts()["CephClient"].spec
    assert {pool["role"]: pool["readOnly"] for pool in spec["pools"]} == {
        "volumes": False,
        "images": True,
        "backup": False,
    }
    assert spec["options"] == {
        "rbd": {"rbd_pool": "pool:volumes", "rbd_user": "user", "rbd_secret_uuid": "secret_uuid"},
        "DEFAULT": {"backup_ceph_pool": "pool:backup", "backup_ceph_user": "user"},
    }


def test_a_users_own_pool_is_not_requested() -> None:
    own = backend(fast={"volume_driver": RBD, "rbd_pool": "fast"})
    assert contracts(**volumes(fast=own))["CephClient"].spec["options"]["fast"].keys() == {
        "rbd_user",
        "rbd_secret_uuid",
    }


def test_backups_are_stored_in_object_storage_if_present() -> None:
    options = values(services=["object-storage"])["conf"]["cinder"]["DEFAULT"]
    assert options["backup_driver"] == SWIFT_BACKUP
    assert options["swift_catalog_info"] == "object-store:swift:internalURL"
    assert [pool["role"] for pool in contracts(services=["object-storage"])["CephClient"].spec["pools"]] == [
        "volumes",
        "images",
    ]
    assert values()["conf"]["cinder"]["DEFAULT"]["backup_driver"] == CEPH_BACKUP


def test_back_ends_without_ceph_request_no_client() -> None:
    asked = volumes(files=backend(files={"volume_driver": NFS, "nas_host": "192.0.2.1"}))
    built = values(**asked)
    assert built["secrets"]["ceph"] == {"cinder": None}
    assert built["conf"]["privileged_volume"] is True
    assert built["manifests"] == {"statefulset_volume": True, "statefulset_backup": False}
    assert "CephClient" not in contracts(**asked)
    assert cinder.SERVICE.requires(context(cinder.SERVICE, **asked).settings) == (
        "database",
        "messaging",
        "identity",
        "coordination",
    )


def test_volume_types_are_named_after_back_ends() -> None:
    built = values(
        **volumes(
            one=backend(section={"volume_driver": RBD}),
            two=backend(a={"volume_driver": NFS}, b={"volume_driver": NFS}),
            hidden=backend(create_volume_type=False, c={"volume_driver": NFS}),
            off={**backend(d={"volume_driver": NFS}), "enabled": False},
        )
    )
    named = {
        name: kind["extra_specs"]["volume_backend_name"] for name, kind in built["bootstrap"]["volume_types"].items()
    }
    assert named == {"one": "section", "a": "a", "b": "b"}
    assert built["bootstrap"]["default_type"] == "one"
    assert list(built["conf"]["backends"]) == ["section", "a", "b", "c"]


def test_a_cloud_describes_additional_volume_types() -> None:
    limited = {"backend": "rbd", "qos": {"specs": {"total_iops_sec": 100}}, "public": False}
    asked = {
        "shared": {"multi_attach": True, "extra_specs": {"a": "b"}},
        "limited": limited,
        "rbd": {"description": "d"},
    }
    built = values(volume_types=asked)["bootstrap"]
    assert built["default_type"] == "rbd"
    assert built["volume_types"] == {
        "rbd": {"extra_specs": {"volume_backend_name": "rbd"}, "description": "d", "is_public": True},
        "shared": {"extra_specs": {"multiattach": "<is> True", "a": "b"}, "description": "", "is_public": True},
        "limited": {
            "extra_specs": {"volume_backend_name": "rbd"},
            "description": "",
            "is_public": False,
            "qos": {"consumer": "back-end", "specs": {"total_iops_sec": 100}},
        },
    }


def test_a_hidden_volume_type_is_not_the_default() -> None:
    hidden = volumes(one=backend(create_volume_type=False, a={"volume_driver": NFS}))
    assert values(volume_types={"x": {}}, **hidden)["bootstrap"]["default_type"] is None
    assert values(volume_types={"rbd": {"public": False}})["bootstrap"]["default_type"] is None
    assert values(volume_types={"rbd": {"multi_attach": True}})["bootstrap"]["default_type"] == "rbd"


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ({"qos": {"specs": {}}}, "x.qos.specs"),
        ({"qos": {"specs": {"name": 5}}}, "'name': not the name of a limit"),
        ({"qos": {"specs": {"a/b": 5}}}, "'a/b': not the name of a limit"),
        ({"qos": {"specs": {"total_iops_sec": -1}}}, "total_iops_sec: takes 0 or more"),
        ({"extra_specs": {"multiattach": "<is> True"}}, "multiattach: use multi_attach"),
        ({"extra_specs": {"volume_backend_name": "x"}}, "volume_backend_name: use backend"),
        ({"backend": ""}, "x.backend"),
        ({"shared": True}, "x.shared"),
    ],
)
def test_a_volume_type_that_cinder_would_reject_is_rejected(kind: dict[str, object], part: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(part)):
        CinderFeatures.model_validate({"volume_types": {"x": kind}})


def test_names_that_cinder_would_reject_are_rejected() -> None:
    with pytest.raises(ValidationError, match=r"volume_types\.' x': takes a name"):
        CinderFeatures.model_validate({"volume_types": {" x": {}}})
    for name in ([], 7, ""):
        with pytest.raises(ValidationError, match=r"backends\.a\.volume_backend_name: takes a name"):
            CinderFeatures.model_validate({"volume": {"backends": {"b": backend(a={"volume_backend_name": name})}}})
    with pytest.raises(ValidationError, match="unknown rbd; allowed: none"):
        CinderFeatures.model_validate({"volume": {"enabled": False}, "volume_types": {"x": {"backend": "rbd"}}})


@pytest.mark.parametrize(("backends", "known"), [({}, "rbd"), ({"volume": {"backends": {"a": backend(b={})}}}, "b")])
def test_a_volume_type_of_no_back_end_is_refused(backends: dict[str, object], known: str) -> None:
    with pytest.raises(ValidationError, match=f"volume_types.x.backend: unknown nowhere; allowed: {known}"):
        CinderFeatures.model_validate({**backends, "volume_types": {"x": {"backend": "nowhere"}}})


def test_a_misspelt_back_end_or_section_is_told_with_the_one_that_is_meant() -> None:
    asked = backend(files={})
    fields = {"volume": {"backends": {"a": asked}}, "volume_types": {"x": {"backend": "flies"}}}
    with pytest.raises(ValidationError, match=r"unknown flies; did you mean files\? allowed: files"):
        CinderFeatures.model_validate(fields)
    asked["values"]["conf"]["cidner"] = {}  # type: ignore[index]
    with pytest.raises(
        ValidationError, match=r"unknown section cidner; did you mean cinder\? allowed: backends, cinder"
    ):
        CinderFeatures.model_validate({"volume": {"backends": {"a": asked}}})


def test_options_of_back_ends_reach_the_configuration() -> None:
    asked = backend(files={"volume_driver": NFS})
    asked["values"]["conf"]["cinder"] = {"DEFAULT": {"debug": True}, "nova": {"interface": "public"}}  # type: ignore[index]
    conf = values(**volumes(files=asked))["conf"]["cinder"]
    assert conf["DEFAULT"]["debug"] is True
    assert conf["nova"] == {"region_name": "RegionOne", "interface": "public"}


@pytest.mark.parametrize("size", SIZES)
def test_several_processes_serve_the_same_volumes_only_with_shared_locks(size: Size) -> None:
    alone, locked = values(size), values(size, services=LOCKED)
    assert alone["pod"]["replicas"]["volume"] == 1
    assert "cluster" not in alone["conf"]["cinder"]["DEFAULT"]
    assert locked["pod"]["replicas"]["volume"] == cinder_values.SIZES[size].volume
    assert locked["conf"]["cinder"]["DEFAULT"]["cluster"] == "cinder"
    mixed = values(size, services=LOCKED, **volumes(files=backend(files={"volume_driver": NFS})))
    assert mixed["pod"]["replicas"]["volume"] == 1
    assert "backend_url" in mixed["conf"]["cinder"]["coordination"]


def test_locks_are_in_etcd_with_a_certificate() -> None:
    locked = context(cinder.SERVICE, services=LOCKED)
    url = values(services=LOCKED)["conf"]["cinder"]["coordination"]["backend_url"]
    assert url.startswith(
        "etcd3+https://etcd.openstack.svc.cluster.local:2379?api_version=v3&ca_cert=/etc/cinder/etcd/ca.crt"
    )
    assert [found.name for found in cinder.SERVICE.certificates(locked)] == ["cinder-etcd"]
    assert values(services=LOCKED)["secrets"]["tls"] == {"etcd": "cinder-etcd"}
    assert cinder.SERVICE.certificates(context(cinder.SERVICE)) == ()
    assert values()["secrets"]["tls"] == {"etcd": None}


@pytest.mark.parametrize(("ingress", "url"), [(True, "https://cinder.cloud.example"), (False, "http://cinder-api.")])
def test_the_catalog_has_the_type_that_clients_of_this_release_use(ingress: bool, url: str) -> None:
    spec = contracts(ingress=ingress)["KeystoneService"].spec
    assert (spec["serviceName"], spec["serviceType"], spec["username"]) == ("cinderv3", "volumev3", "cinder")
    assert spec["endpoints"]["public"].startswith(url)
    assert spec["endpoints"]["internal"] == "http://cinder-api.openstack.svc.cluster.local:8776/v3/%(project_id)s"


def test_etcd_has_a_majority_in_all_but_the_smallest_cloud() -> None:
    counts = {size: etcd.SERVICE.charts[0].values(context(etcd.SERVICE, size))["pod"]["replicas"] for size in SIZES}
    assert counts == {"single": {"server": 1}} | {size: {"server": 3} for size in SIZES[1:]}


def test_the_certificate_of_etcd_is_for_services_and_members() -> None:
    (certificate,) = etcd.SERVICE.certificates(context(etcd.SERVICE))
    assert certificate.name == "etcd-tls"
    assert {"etcd", "etcd.openstack.svc", "*.etcd-discovery.openstack.svc.cluster.local"} <= set(certificate.names)
    assert certificate.addresses == ("127.0.0.1",)
