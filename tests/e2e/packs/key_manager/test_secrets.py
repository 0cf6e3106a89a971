"""Secrets: whose they are, rotated and lost keys, encrypted volumes, a replaced API, a service that was away."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from full import FullCloud
from harness import eventually
from infra import member
from storage import PREFIX, Storage
from traffic.load import Load, targets
from vms import Vms

EXAMPLE = "examples/key-manager.yaml"
KEK = "barbican-kek"
ROTATED = "stackwright.dev/rotated-at"
LIMIT = 180
TEXT = "text/plain"


class Secrets:
    """Secrets of the administrator's project."""

    def __init__(self, cloud: FullCloud, vms: Vms) -> None:
        self.cloud, self.vms = cloud, vms
        self.api: Any = vms.sdk.key_manager

    def store(self, text: str, api: Any = None) -> str:
        made = (api or self.api).create_secret(name=f"{PREFIX}secret", payload=text, payload_content_type=TEXT)
        return str(made.secret_id)

    def read(self, id_: str) -> str:
        return str(self.api.get_secret(id_).payload)

    def code(self, id_: str, sdk: Any) -> int:
        """The status code of a read by another user."""
        return int(sdk.key_manager.get(f"/secrets/{id_}/payload", headers={"Accept": TEXT}).status_code)

    def unknown(self, path: str, **headers: str) -> int:
        """The status code of a request without a token."""
        url = self.vms.sdk.session.get_endpoint(service_type="key-manager", interface="public")
        assert url.startswith("https://barbican.")
        session = self.vms.sdk.session.session
        return int(
            session.get(url.rstrip("/") + path, headers=headers, verify=str(self.vms.ca), timeout=60).status_code
        )

    def keys(self) -> dict[str, str]:
        """The keys of Simple Crypto, by number."""
        data = self.cloud.get("secret", KEK, "-n", self.cloud.namespace)["data"]
        return {number: base64.b64decode(key).decode() for number, key in data.items()}

    def mounted(self, component: str) -> set[str]:
        """Numbers of the keys that a pod has."""
        words = (f"deployment/barbican-{component}", "-n", self.cloud.namespace, "--", "ls", "/etc/barbican/kek")
        return set(self.cloud.kubectl("exec", *words).split())


@pytest.fixture(scope="module")
def barbican_cloud(storage_cloud: FullCloud) -> Iterator[FullCloud]:
    with storage_cloud.changed_to(EXAMPLE) as made:
        yield made


@pytest.fixture(scope="module")
def secrets(barbican_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secrets]:
    """A client that logged in when the catalog had the service."""
    vms = Vms(barbican_cloud, tmp_path_factory.mktemp("secrets"))
    made = Secrets(barbican_cloud, vms)
    yield made
    for left in list(made.api.secrets()):
        made.api.delete_secret(left.secret_id)
    vms.sdk.close()


def test_smoke_tests_a_secret(barbican_cloud: FullCloud, secrets: Secrets) -> None:
    assert "3 of 3 passed" in barbican_cloud.stackwright("smoke", "--checks", "secret")  # with login and clean-up
    assert list(secrets.api.secrets()) == []


def test_a_secret_is_read_by_its_project_only(barbican_cloud: FullCloud, secrets: Secrets) -> None:
    """Neither the headers that Keystone's middleware sets nor the role of another project open it."""
    id_ = secrets.store("of the administrator")
    assert secrets.read(id_) == "of the administrator"
    project = str(secrets.vms.sdk.current_project_id)
    forged = {"X-Identity-Status": "Confirmed", "X-Project-Id": project, "X-Roles": "admin,member", "X-User-Id": "u"}
    assert secrets.unknown(f"/v1/secrets/{id_}/payload", Accept=TEXT) == 401
    assert secrets.unknown(f"/v1/secrets/{id_}/payload", Accept=TEXT, **forged) == 401
    assert secrets.unknown("/healthcheck") == 200
    with member(barbican_cloud, secrets.vms) as (other, _):
        assert secrets.code(id_, other) == 403
        own = secrets.store("of a member", other.key_manager)
        assert secrets.code(own, other) == 200
        other.key_manager.delete_secret(own)
    stored = barbican_cloud.sql("select cypher_text, plugin_meta from barbican.encrypted_data, barbican.kek_data")
    assert stored and "administrator" not in stored
    too_large = {"name": "large", "payload": "x" * 20001, "payload_content_type": TEXT}
    assert secrets.api.post("/secrets", json=too_large).status_code == 413


def test_a_rotated_key_encrypts_what_was_encrypted_before(barbican_cloud: FullCloud, secrets: Secrets) -> None:
    """The running pods get the new keys, and the Job encrypts the keys of projects with the new primary one."""
    id_, before = secrets.store("from before"), secrets.keys()
    barbican_cloud.kubectl("annotate", "secret", KEK, "-n", barbican_cloud.namespace, f"{ROTATED}-")
    eventually(lambda: len(secrets.keys()) == len(before) + 1, limit=60, pause=1)
    after = secrets.keys()
    primary = str(max(map(int, after)))
    assert after[primary] == before["0"] and set(before.values()) < set(after.values())
    for component in ("api", "worker"):
        eventually(lambda component=component: primary in secrets.mounted(component), limit=LIMIT, pause=2)
    where = ("-n", barbican_cloud.namespace)
    barbican_cloud.kubectl("create", "job", "rewrap-now", "--from=cronjob/barbican-kek-rewrap", *where)
    try:
        barbican_cloud.kubectl(
            "wait", "job/rewrap-now", "--for=condition=Complete", "--timeout=120s", *where, limit=130
        )
        said = barbican_cloud.kubectl("logs", "job/rewrap-now", *where)
        assert "are encrypted with the primary key, 0 are not" in said
    finally:
        barbican_cloud.kubectl("delete", "job", "rewrap-now", *where)
    assert secrets.read(id_) == "from before"


def test_lost_keys_are_reported_and_not_replaced(barbican_cloud: FullCloud, secrets: Secrets) -> None:
    id_ = secrets.store("still there")
    saved = barbican_cloud.get("secret", KEK, "-n", barbican_cloud.namespace)
    kept = {"apiVersion": "v1", "kind": "Secret", "data": saved["data"]}
    kept["metadata"] = {name: saved["metadata"][name] for name in ("name", "namespace")}
    barbican_cloud.kubectl("delete", "secret", KEK, "-n", barbican_cloud.namespace)
    try:
        barbican_cloud.kubectl(
            "annotate", "barbican/barbican", "-n", barbican_cloud.namespace, "look=now", "--overwrite"
        )
        eventually(
            lambda: barbican_cloud.condition("Ready", "barbican/barbican")["reason"] == "BlockedKeyLost",
            limit=60,
            pause=1,
        )
        assert KEK in barbican_cloud.condition("Ready", "barbican/barbican")["message"]
        assert barbican_cloud.kubectl("get", "secret", KEK, "-n", barbican_cloud.namespace, code=1)
    finally:
        barbican_cloud.apply(kept)
    barbican_cloud.wait_ready()
    assert secrets.read(id_) == "still there"
    assert set(saved["data"].values()) <= {base64.b64encode(key.encode()).decode() for key in secrets.keys().values()}


def test_a_volume_is_encrypted_with_a_key_of_its_owner(secrets: Secrets, storage: Storage) -> None:
    """The machine reads and writes it; Ceph has only the result of the encryption."""
    blocks = storage.blocks
    kind = blocks.create_type(name=f"{PREFIX}encrypted", extra_specs={"volume_backend_name": "rbd"})
    cipher = {"cipher": "aes-xts-plain64", "key_size": 256, "control_location": "front-end"}
    blocks.create_type_encryption(kind, provider="luks", **cipher)
    before = {each.secret_id for each in secrets.api.secrets()}
    volume = storage.volume("encrypted", volume_type=kind.name)
    (key,) = {each.secret_id for each in secrets.api.secrets()} - before
    image = storage.image_of(volume)
    start = storage.ceph.ask("sh", "-c", f"rbd export --no-progress {image} - 2>/dev/null | head -c 4")
    assert start == "LUKS"
    vm = storage.machine("reader")
    try:
        device = storage.attach(vm, volume)
        written = storage.fill(vm, device)
        storage.detach(vm, volume)
        device = storage.attach(vm, volume)
        assert storage.sum(vm, device) == written
        storage.detach(vm, volume)
    finally:
        storage.vms.delete(vm)
    blocks.delete_volume(volume)
    eventually(lambda: key not in {each.secret_id for each in secrets.api.secrets()}, limit=60, pause=1)


def test_no_request_fails_while_the_api_restarts(barbican_cloud: FullCloud, secrets: Secrets) -> None:
    found = [each for each in targets(barbican_cloud) if each.workload.name == "barbican-api"]
    what = ("deployment/barbican-api", "-n", barbican_cloud.namespace)
    id_ = secrets.store("read meanwhile")
    with Load(barbican_cloud, found) as load:
        barbican_cloud.kubectl("rollout", "restart", *what)
        for _ in range(20):
            assert secrets.read(id_) == "read meanwhile"
        barbican_cloud.kubectl("rollout", "status", *what, limit=LIMIT)
    assert load.result["failures"] == []


def test_a_service_that_is_removed_and_added_still_has_its_secrets(
    storage_cloud: FullCloud, barbican_cloud: FullCloud, secrets: Secrets
) -> None:
    """Database and keys stay."""
    id_, keys = secrets.store("kept"), secrets.keys()
    try:
        storage_cloud.change()
        eventually(
            lambda: barbican_cloud.traces("openstack", "barbican-api", "barbican-worker") == [], limit=LIMIT, pause=1
        )
        assert "barbican" in barbican_cloud.sql("show databases").split()
        assert secrets.keys() == keys
    finally:
        barbican_cloud.change()
    eventually(lambda: secrets.read(id_) == "kept", limit=60, pause=1)
