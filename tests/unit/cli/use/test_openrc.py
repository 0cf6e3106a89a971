"""`openrc`, and the way into a cloud from outside."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.adapters.openstack.transport.login import Login, login_by
from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.cli.state.access import default_ca_file, reachable_login, replace
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.openstack.deployed.access import NoAccess, access, with_cloud
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect

PASSWORD = "p'w $x"
ADMIN = {
    "username": "admin", "password": PASSWORD, "project_name": "admin", "user_domain_name": "Default",
    "project_domain_name": "Default", "region_name": "Two",
}  # fmt: skip
CLOUD: dict[str, Any] = {
    "metadata": {"namespace": "openstack", "name": "cloud"},
    "spec": {
        "openstack_version": "epoxy",
        "preset": "core",
        "size": "single",
        "public_domain_name": "cloud.example",
    },
    "status": {"services": {"identity": {"state": "APPLIED"}}},
}


def secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"namespace": "openstack", "name": name}, "data": encoded}


@pytest.fixture
def memory() -> MemoryCluster:
    return MemoryCluster()


@pytest.fixture
def home(memory: MemoryCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    memory.put(OpenStackDeployment.KIND, CLOUD)
    memory.put(SECRET, secret("keystone-admin", ADMIN))
    memory.put(SECRET, secret("openstack-public-tls", {"ca.crt": "PEM\n"}))

    (tmp_path / "kubeconfig").touch()
    connect(monkeypatch, memory)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


def test_lines_for_a_shell(home: Path) -> None:
    result = called("openrc", "--ca-file", str(home / "ca.crt"))
    assert result.exit_code == 0, result.output
    shell = ["sh", "-c", 'eval "$0"; printf "%s|%s|%s" "$OS_PASSWORD" "$OS_AUTH_URL" "$OS_CACERT"', result.stdout]
    told = subprocess.run(shell, check=True, capture_output=True, text=True).stdout
    assert told == f"{PASSWORD}|https://keystone.cloud.example/v3|{home / 'ca.crt'}"
    assert (home / "ca.crt").read_text() == "PEM\n"
    lines = result.stdout.splitlines()
    assert {"export OS_INTERFACE=public", "export OS_REGION_NAME=Two", "export OS_IDENTITY_API_VERSION=3"} < set(lines)


def test_a_file_of_the_authority_that_is_no_text_is_replaced(home: Path) -> None:
    (home / "ca.crt").write_bytes(b"\xff")
    assert called("openrc", "--ca-file", str(home / "ca.crt")).exit_code == 0
    assert (home / "ca.crt").read_text() == "PEM\n"


def test_a_clouds_yaml(home: Path) -> None:
    result = called("openrc", "--format", "clouds.yaml", "--cloud", "mine")
    found = yaml.safe_load(result.stdout)["clouds"]["mine"]
    assert found["auth"]["password"] == PASSWORD
    assert (found["region_name"], found["interface"]) == ("Two", "public")
    assert Path(found["cacert"]).parent == home / ".config/openstack"
    assert Path(found["cacert"]).read_text() == "PEM\n"


def test_other_clouds_in_the_file_are_kept(home: Path) -> None:
    path = home / ".config/openstack/clouds.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("cache: {expiration_time: 3600}\nclouds:\n  other: {region_name: R}\n")
    path.chmod(0o644)
    result = called("openrc", "--write")
    assert result.stdout == f"{path}: cloud stackwright written\n"
    there = yaml.safe_load(path.read_text())
    assert there["cache"] == {"expiration_time": 3600}
    assert sorted(there["clouds"]) == ["other", "stackwright"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert "unchanged" in called("openrc", "--write").stdout
    assert sorted(p.name.partition("-ca-")[0] for p in path.parent.iterdir()) == ["clouds.yaml", "stackwright"]


def test_another_cloud_with_the_default_name_is_kept(home: Path) -> None:
    """Its entry and its CA, also if only lines are printed."""
    folder = home / ".config/openstack"
    folder.mkdir(parents=True)
    (folder / "stackwright-ca.crt").write_text("theirs")
    auth = {"auth_url": "https://keystone.other.example/v3", "username": "admin"}
    theirs = yaml.safe_dump({"clouds": {"stackwright": {"auth": auth, "cacert": str(folder / "stackwright-ca.crt")}}})
    (folder / "clouds.yaml").write_text(theirs)
    before = sorted(folder.iterdir())
    result = called("openrc", "--write")
    assert result.exit_code == 1
    assert "was not changed: its cloud stackwright has another address or account; choose another name" in result.stderr
    assert sorted(folder.iterdir()) == before, "nothing else is written then"
    assert called("openrc").exit_code == 0
    assert called("openrc", "--write", "--cloud", "second").exit_code == 0
    assert (folder / "stackwright-ca.crt").read_text() == "theirs"
    found = yaml.safe_load((folder / "clouds.yaml").read_text())["clouds"]
    assert found["stackwright"]["auth"] == auth
    assert Path(found["second"]["cacert"]).read_text() == "PEM\n"


def test_two_clouds_of_one_name_have_separate_files(home: Path, memory: MemoryCluster) -> None:
    first = yaml.safe_load(called("openrc", "--format", "clouds.yaml").stdout)["clouds"]["stackwright"]["cacert"]
    memory.put(SECRET, secret("openstack-public-tls", {"ca.crt": "ANOTHER\n"}))
    second = yaml.safe_load(called("openrc", "--format", "clouds.yaml").stdout)["clouds"]["stackwright"]["cacert"]
    assert [Path(each).read_text() for each in (first, second)] == ["PEM\n", "ANOTHER\n"]


def test_only_the_local_cloud_has_its_file_next_to_its_data(home: Path) -> None:
    local = home / "local/kubeconfig"
    assert default_ca_file(local, "openstack", "a", "PEM") == home / "local/ca.crt"
    assert default_ca_file(local, "another", "a", "PEM").parent == home / ".config/openstack"


def test_a_secret_names_no_file_and_writes_none(home: Path) -> None:
    assert called("openrc", "--format", "secret").exit_code == 0
    assert not (home / ".config").exists()


def test_a_renewed_password_and_authority_replace_the_former(home: Path, memory: MemoryCluster) -> None:
    assert called("openrc", "--write").exit_code == 0
    memory.put(SECRET, secret("keystone-admin", {**ADMIN, "password": "renewed"}))
    memory.put(SECRET, secret("openstack-public-tls", {"ca.crt": "RENEWED\n"}))
    assert "written" in called("openrc", "--write").stdout
    found = yaml.safe_load((home / ".config/openstack/clouds.yaml").read_text())["clouds"]["stackwright"]
    assert found["auth"]["password"] == "renewed"
    assert Path(found["cacert"]).read_text() == "RENEWED\n"


@pytest.mark.parametrize(
    "there", ["a text", [], {"region_name": "R"}, {"auth": None}, {"auth": {"auth_url": "x", "b": 1}}]
)
def test_a_foreign_file_of_that_name_is_not_replaced(there: Any) -> None:
    with pytest.raises(ValueError, match="another address or account"):
        with_cloud({"clouds": {"a": there}}, "a", {"auth": {"auth_url": "x", "password": "p"}})


def test_a_file_that_is_no_clouds_yaml_is_not_changed(home: Path) -> None:
    path = home / ".config/openstack/clouds.yaml"
    path.parent.mkdir(parents=True)
    for content in (b"- a list\n", b"clouds: [a]\n", b"a: b: c\n", b"[" * 5000, b"a: \xff\n"):
        path.write_bytes(content)
        result = called("openrc", "--write")
        assert result.exit_code == 1
        assert "was not changed" in result.stderr
        assert "codec" not in result.stderr
        assert path.read_bytes() == content


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert replace(tmp_path / "link", "b", 0o600)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "b"
    assert not replace(tmp_path / "link", "b", 0o600)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(NoAccess, match="Secret keystone-admin does not exist"):
        access(CLOUD, {}, {})
    with pytest.raises(NoAccess, match="lacks password"):
        access(CLOUD, {**ADMIN, "password": ""}, {})
    with pytest.raises(NoAccess, match="no public endpoints"):
        access(CLOUD, ADMIN, {})
    assert PASSWORD not in repr(access(CLOUD, ADMIN, {"ca.crt": "PEM"}))


def test_a_first_cloud() -> None:
    assert with_cloud(None, "a", {"b": 1}) == {"clouds": {"a": {"b": 1}}}
    assert with_cloud({"clouds": None}, "a", {}) == {"clouds": {"a": {}}}


def test_smoke_knows_its_checks(home: Path) -> None:
    result = called("smoke", "--checks", "pong")
    assert result.exit_code == 2
    assert "unknown check pong" in " ".join(result.stderr.split())


def test_the_help_of_smoke_names_all_checks() -> None:
    from stackwright.smoke.checks import names

    told = " ".join(called("smoke", "--help").stdout.split())
    assert all(name in told for name in names())
    assert "stackwright smoke --junit" in told


def test_a_secret_for_servers_of_the_same_cluster_names_addresses_inside(home: Path) -> None:
    done = CliRunner().invoke(app, ["openrc", "--format", "secret", "--cloud", "mine"])
    made = yaml.safe_load(done.output)
    assert (made["kind"], made["metadata"]["name"]) == ("Secret", "mine-clouds")
    entry = yaml.safe_load(made["stringData"]["clouds.yaml"])["clouds"]["mine"]
    assert entry["auth"]["auth_url"] == "http://keystone-api.openstack.svc:5000/v3"
    assert entry["interface"] == "internal"
    assert entry["auth"]["password"] == PASSWORD


def login(url: str) -> Login:
    entry = {"auth": {"auth_url": url, "username": "demo", "password": "hush"}, "interface": "internal"}
    return login_by({**entry, "endpoint_type": "internal", "verify": False}, "")


def reader(*objects: tuple[Kind, dict[str, Any]]) -> MemoryCluster:
    memory = MemoryCluster()
    for kind, obj in objects:
        memory.put(kind, obj)
    return memory


async def test_credentials_with_an_internal_address_use_the_public_endpoints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_connection, "POD_ACCOUNT", tmp_path / "none")
    whole = reader(
        (OpenStackDeployment.KIND, CLOUD),
        (SECRET, secret("keystone-admin", ADMIN)),
        (SECRET, secret("openstack-public-tls", {"ca.crt": "PEM\n"})),
    )
    inside = login("http://keystone-api.openstack.svc:5000/v3")
    found = await reachable_login(whole, inside)
    assert found.entry == {
        "auth": {"auth_url": "https://keystone.cloud.example/v3", "username": "demo", "password": "hush"},
        "interface": "public",
    }
    assert found.ca == "PEM\n" and found.digest != inside.digest
    full = await reachable_login(whole, login("http://keystone-api.openstack.svc.cluster.local:5000/v3"))
    assert full.digest == found.digest
    monkeypatch.setattr(cli_connection, "POD_ACCOUNT", tmp_path)
    assert await reachable_login(whole, inside) == inside, "a pod knows the name"


@pytest.mark.parametrize(
    "url",
    [
        "https://keystone.elsewhere.example/v3",
        "http://keystone-api.other.svc:5000/v3",
        "http://keystone-api.openstack.svc.evil/../x@y",
    ],
)
async def test_other_addresses_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str) -> None:
    monkeypatch.setattr(cli_connection, "POD_ACCOUNT", tmp_path / "none")
    assert await reachable_login(reader(), login(url)) == login(url)
