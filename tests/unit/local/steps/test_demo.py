"""The last step of `up`: when it is done, what it creates, and what it records."""

from __future__ import annotations

import base64
import json
import shlex
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.core.openstack.deployed.access import NEEDED
from stackwright.local.cluster import bringup
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.image import guest
from stackwright.local.steps.openstack import demo as step
from stackwright.smoke import demo as smoke_demo
from stackwright.smoke import host as smoke_host
from stackwright.smoke.openstack import projects
from stackwright.smoke.ports import Failed
from stackwright.smoke.tenant import CloudError

ADDRESS = "172.24.4.9"
SECRETS = "/api/v1/namespaces/openstack/secrets"
PEM = "-----BEGIN CERTIFICATE-----\n"


def secret(**data: str) -> dict[str, Any]:
    return {"data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}


def context(folder: Path, **features: Any) -> Any:
    cloud = {
        "metadata": {"uid": "u1", "namespace": "openstack", "name": "cloud"},
        "spec": {"public_domain_name": "cloud.example", "features": {"neutron": {"floating_network": features}}},
        "status": {"services": {name: {} for name in (*step.NEEDED, "dashboard")}},
    }
    objects = {
        step.CLOUDS: {"items": [cloud]},
        f"{SECRETS}/keystone-admin": secret(**{name: f"the {name}" for name in NEEDED}),
        f"{SECRETS}/openstack-public-tls": secret(**{"ca.crt": PEM}),
    }
    api = SimpleNamespace(get=objects.get, objects=objects)
    cluster = LocalCluster(folder, folder)
    return SimpleNamespace(cloud=True, vm=True, bare=False, kubeconfig=None, cluster=cluster, api=api)


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    return context(tmp_path, enabled=True)


def remember(ctx: Any, **known: str) -> None:
    (ctx.cluster.state / "demo.json").write_text(json.dumps({"cloud": "u1", "server": "s", **known}))


class Demo:
    """Stand-in for the machine's creation: its arguments and its result."""

    given: tuple[Any, ...] = ()
    fails: Exception | None = None

    def __init__(self, *given: Any) -> None:
        type(self).given = given

    def ensure(self) -> tuple[str, str]:
        if self.fails:
            raise self.fails
        return "s", ADDRESS


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> type[Demo]:
    class Made(Demo):
        pass

    monkeypatch.setattr(smoke_demo, "Demo", Made)
    monkeypatch.setattr(smoke_host, "RealHost", lambda ca: f"by {ca.name}")
    monkeypatch.setattr(projects, "administrator", lambda entry, ca: (entry, ca))
    monkeypatch.setattr(projects, "tenant", lambda connection: connection)
    monkeypatch.setattr(guest, "guest_image", lambda cluster: cluster.cache / "guest.qcow2")
    monkeypatch.setattr(step, "greets", lambda address: address == ADDRESS)
    return Made


def test_the_step_is_skipped_with_the_reason_without_a_compute_service(tmp_path: Path, ctx: Any) -> None:
    needed = "compute, identity, image, ingress, networking and features.neutron.floating_network"
    assert step.skipped(context(tmp_path, enabled=False)) == f"no OpenStackDeployment has {needed}"
    assert step.skipped(ctx) is None
    assert not step.done(ctx)
    assert step in bringup.steps(ctx)
    for option in ("vm", "cloud"):
        without: Any = SimpleNamespace(**{**vars(ctx), option: False})
        assert step.skipped(without) == f"--no-{option} was given"
    assert not any("ssh -i" in line for line in step.summary(ctx))


@pytest.mark.parametrize("lacking", [*sorted(step.NEEDED), "status", "kind"])
def test_a_cloud_without_one_of_the_services_runs_no_machine(ctx: Any, lacking: str) -> None:
    (cloud,) = ctx.api.objects[step.CLOUDS]["items"]
    if lacking == "kind":
        del ctx.api.objects[step.CLOUDS]
    elif lacking == "status":
        del cloud["status"]
    else:
        del cloud["status"]["services"][lacking]
    assert step.skipped(ctx)
    assert not step.done(ctx)


def test_the_step_is_done_when_the_recorded_machine_responds(ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(ctx, address=ADDRESS)
    monkeypatch.setattr(step, "greets", lambda address: address == ADDRESS)
    assert step.done(ctx)
    login = shlex.split(step.summary(ctx)[0].partition(":")[2])
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    assert login == ["ssh", "-i", login[2], *options, f"stackwright@{ADDRESS}"]
    assert "https://horizon.cloud.example" in step.summary(ctx)[1]
    remember(ctx, address=ADDRESS, cloud="another")
    assert not step.done(ctx)


def test_no_machine_is_contacted_without_a_recorded_address(ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid name would be resolved at each `up`, and any host with that name would count as the machine."""
    monkeypatch.setattr(socket, "create_connection", lambda *words, **more: pytest.fail(f"asked {words}"))
    assert not step.done(ctx)
    remember(ctx)
    assert not step.done(ctx)


def test_the_machine_is_created_as_the_clouds_administrator_and_recorded(ctx: Any, made: type[Demo]) -> None:
    assert not step.done(ctx)
    step.run(ctx, quiet)
    assert step.done(ctx)
    (entry, ca), host, image, folder, report = made.given
    assert entry.auth == {name: f"the {name}" for name in NEEDED}
    assert entry.auth_url == "https://keystone.cloud.example/v3"
    assert (ca, (ctx.cluster.state / "ca.crt").read_text()) == (str(ctx.cluster.state / "ca.crt"), PEM)
    assert (host, image()) == ("by ca.crt", ctx.cluster.cache / "guest.qcow2")
    assert (folder, report) == (ctx.cluster.state / "ssh", quiet)
    known = json.loads((ctx.cluster.state / "demo.json").read_text())
    assert known == {"cloud": "u1", "server": "s", "address": ADDRESS}


@pytest.mark.parametrize("error", [Failed("no answer"), CloudError("no answer")])
def test_a_failed_machine_is_reported_and_the_former_one_forgotten(
    ctx: Any, made: type[Demo], error: Exception
) -> None:
    remember(ctx, address=ADDRESS)
    made.fails = error
    with pytest.raises(LocalError, match=r"The cloud is ready, but the virtual machine test failed: .*no answer"):
        step.run(ctx, quiet)
    assert not step.done(ctx)
    assert not any("ssh -i" in line for line in step.summary(ctx))


@pytest.mark.parametrize("name", ["keystone-admin", "openstack-public-tls"])
def test_a_missing_secret_is_named(ctx: Any, made: type[Demo], name: str) -> None:
    del ctx.api.objects[f"{SECRETS}/{name}"]
    with pytest.raises(LocalError, match=f"Secret {name}"):
        step.run(ctx, quiet)


def test_an_ssh_server_is_known_by_its_greeting(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        real = socket.create_connection
        there = listener.getsockname()
        monkeypatch.setattr(socket, "create_connection", lambda address, timeout: real(there, timeout))

        def greet(words: bytes) -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(words)

        for words, heard in ((b"SSH-2.0-dropbear\r\n", True), (b"HTTP/1.1 400", False)):
            thread = threading.Thread(target=greet, args=(words,))
            thread.start()
            assert step.greets("192.0.2.1") is heard
            thread.join()
    assert not step.greets("")
