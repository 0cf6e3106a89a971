"""Object storage by its public endpoint: the `openstack` command and a client of S3, rights, and quotas."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
import yaml
from botocore.config import Config
from botocore.exceptions import ClientError
from harness import Done, openstack
from storage import PREFIX, Storage
from vms import NAME

CONTAINER = f"{PREFIX}shelf"
OBJECT = "letter"


class Tenant:
    """A project and its only user, a member."""

    def __init__(self, storage: Storage, name: str, folder: Path) -> None:
        identity, self._ca = storage.sdk.identity, str(storage.vms.ca)
        self.name, password = f"{PREFIX}{name}", secrets.token_hex(16)
        self.project = identity.create_project(name=self.name, domain_id="default")
        self.user = identity.create_user(name=self.name, password=password, domain_id="default")
        identity.assign_project_role_to_user(self.project, self.user, identity.find_role("member"))
        entry = yaml.safe_load(storage.vms.clouds.read_text())
        who = {"username": self.name, "password": password, "project_name": self.name}
        entry["clouds"][NAME]["auth"] |= {**who, "user_domain_name": "Default", "project_domain_name": "Default"}
        self._clouds = folder / f"{name}.yaml"
        self._clouds.write_text(yaml.safe_dump(entry))
        self.endpoint = f"https://object-store.{storage.cloud.spec()['public_domain_name']}"

    def openstack(self, *words: str) -> Done:
        return openstack(self._clouds, *words)

    def did(self, *words: str) -> str:
        done = self.openstack(*words)
        assert done.code == 0, done.out
        return done.out

    def s3(self) -> Any:
        """A client with EC2 credentials from Keystone. This release of Ceph supports no checksums after the body."""
        out = self.did("ec2", "credentials", "create", "-f", "json")
        made = json.loads(out[out.index("{") : out.rindex("}") + 1])
        more = {"s3": {"addressing_style": "path"}, "retries": {"total_max_attempts": 2}}
        sums = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=made["access"],
            aws_secret_access_key=made["secret"],
            region_name="RegionOne",
            verify=self._ca,
            config=Config(**more, **sums),
        )

    def anonymously(self, path: str) -> int:
        """The status of a GET by an anonymous client."""
        return requests.get(f"{self.endpoint}/{path}", verify=self._ca, timeout=30).status_code

    def empty(self) -> None:
        self.openstack("container", "delete", "--recursive", CONTAINER)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request to the cloud uses a proxy to the internet."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")


@pytest.fixture(scope="module")
def tenants(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tenant, Tenant]]:
    forget(storage)
    folder = tmp_path_factory.mktemp("tenants")
    made = Tenant(storage, "one", folder), Tenant(storage, "two", folder)
    yield made
    for each in made:
        each.empty()
    forget(storage)


def forget(storage: Storage) -> None:
    identity = storage.sdk.identity
    for user in identity.users():
        if user.name.startswith(PREFIX):
            identity.delete_user(user)
    for project in identity.projects():
        if project.name.startswith(PREFIX):
            identity.delete_project(project)


@pytest.fixture
def one(tenants: tuple[Tenant, Tenant], tmp_path: Path) -> Iterator[Tenant]:
    """A tenant with one object in a container."""
    (tmp_path / OBJECT).write_text("to whom it may concern")
    one, _ = tenants
    one.did("container", "create", CONTAINER)
    one.did("object", "create", "--name", OBJECT, CONTAINER, str(tmp_path / OBJECT))
    yield one
    one.empty()


def test_objects_by_the_openstack_command(one: Tenant, tmp_path: Path) -> None:
    assert CONTAINER in one.did("container", "list")
    assert OBJECT in one.did("object", "list", CONTAINER)
    one.did("object", "save", "--file", str(tmp_path / "back"), CONTAINER, OBJECT)
    assert (tmp_path / "back").read_text() == "to whom it may concern"
    one.did("object", "delete", CONTAINER, OBJECT)
    assert OBJECT not in one.did("object", "list", CONTAINER)


def test_objects_by_s3_are_those_of_swift(one: Tenant) -> None:
    s3 = one.s3()
    assert CONTAINER in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    assert s3.get_object(Bucket=CONTAINER, Key=OBJECT)["Body"].read() == b"to whom it may concern"
    data = secrets.token_bytes(9 << 20)
    parts = s3.create_multipart_upload(Bucket=CONTAINER, Key="large")
    order = {"Bucket": CONTAINER, "Key": "large", "UploadId": parts["UploadId"]}
    tags = [s3.upload_part(**order, PartNumber=1, Body=data[: 5 << 20])["ETag"]]
    tags += [s3.upload_part(**order, PartNumber=2, Body=data[5 << 20 :])["ETag"]]
    told = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
    s3.complete_multipart_upload(**order, MultipartUpload={"Parts": told})
    assert s3.get_object(Bucket=CONTAINER, Key="large")["Body"].read() == data
    assert {"large", OBJECT} <= set(one.did("object", "list", CONTAINER, "-f", "value").split())
    s3.delete_object(Bucket=CONTAINER, Key="large")


def test_a_bucket_is_a_container(one: Tenant) -> None:
    s3 = one.s3()
    s3.create_bucket(Bucket=f"{PREFIX}bucket")
    assert f"{PREFIX}bucket" in one.did("container", "list")
    s3.delete_bucket(Bucket=f"{PREFIX}bucket")
    assert f"{PREFIX}bucket" not in one.did("container", "list")


def test_a_user_of_another_project_gets_no_access(one: Tenant, tenants: tuple[Tenant, Tenant]) -> None:
    _, two = tenants
    assert two.openstack("object", "save", "--file", "-", CONTAINER, OBJECT).code != 0
    token = two.did("token", "issue", "-f", "value", "-c", "id").split()[-1]
    for path in (CONTAINER, f"{CONTAINER}/{OBJECT}"):
        url = f"{one.endpoint}/swift/v1/AUTH_{one.project.id}/{path}"
        answer = requests.get(url, headers={"X-Auth-Token": token}, verify=two._ca, timeout=30)
        assert answer.status_code in (403, 404), answer.text
    with pytest.raises(ClientError) as refused:
        two.s3().get_object(Bucket=CONTAINER, Key=OBJECT)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in (403, 404)


def test_an_anonymous_client_gets_no_access(one: Tenant) -> None:
    for path in ("", f"/{CONTAINER}", f"/{CONTAINER}/{OBJECT}"):
        assert one.anonymously(f"swift/v1/AUTH_{one.project.id}{path}") in (401, 403)
    assert one.anonymously(f"{CONTAINER}/{OBJECT}") in (401, 403, 404), "by S3"


def test_a_quota_is_honoured(one: Tenant, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(secrets.token_bytes(4096))
    one.did("container", "set", "--property", "Quota-Bytes=2048", CONTAINER)
    refused = one.openstack("object", "create", CONTAINER, str(file), "--name", "large")
    assert refused.code != 0, refused.out
    assert "413" in refused.out or "Quota" in refused.out, refused.out
    with pytest.raises(ClientError, match="Quota"):
        one.s3().put_object(Bucket=CONTAINER, Key="large", Body=file.read_bytes())
    one.did("container", "set", "--property", "Quota-Bytes=8192", CONTAINER)
    one.did("object", "create", CONTAINER, str(file), "--name", "large")
