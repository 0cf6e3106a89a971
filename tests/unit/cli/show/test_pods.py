"""Which pods `logs` and `shell` choose, and how lines are shown."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.kinds import POD
from stackwright.cli.app import app
from stackwright.cli.failures import CliError
from stackwright.cli.show import logs
from stackwright.cli.show.logs import readable
from stackwright.cli.state.pods import find_pods, streams_of
from stackwright.cli.use.shell import client_pod
from stackwright.core.errors import TransientError
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect


def pod(name: str, application: str, *containers: str, ready: bool = True, **state: Any) -> dict[str, Any]:
    states = [{"name": each, "state": state or {"running": {}}} for each in containers]
    conditions = [{"type": "Ready", "status": str(ready)}]
    labels = {"application": application, "component": "client"}
    return {
        "metadata": {"namespace": "openstack", "name": name, "labels": labels},
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": states},
    }


def cluster(*pods: dict[str, Any]) -> MemoryCluster:
    made = MemoryCluster()
    for each in pods:
        made.put(POD, each)
    return made


async def test_pods_by_service_by_program_and_by_name() -> None:
    there = cluster(pod("api", "keystone", "k"), pod("client", "keystoneclient", "c"), pod("db", "mariadb", "m"))

    async def names(what: str) -> list[str]:
        return [each["metadata"]["name"] for each in await find_pods(there, what, "openstack")]

    assert await names("identity") == await names("keystone") == ["api", "client"]
    assert await names("database") == ["db"]
    assert await names("client") == ["client"]
    with pytest.raises(CliError, match="found pods of: keystone, keystoneclient, mariadb"):
        await names("nova")
    with pytest.raises(CliError, match=r"; did you mean mariadb\? found pods of: keystone, keystoneclient, mariadb"):
        await names("maridb")


def test_a_single_log_needs_no_prefix() -> None:
    assert [each.prefix for each in streams_of([pod("a", "x", "one")], None)[0]] == [""]
    assert [each.prefix for each in streams_of([pod("a", "x", "one", "two")], None)[0]] == ["a/one", "a/two"]
    assert [each.container for each in streams_of([pod("a", "x", "one", "two")], "two")[0]] == ["two"]


def test_an_unstarted_container_is_reported_with_its_cause() -> None:
    waiting = pod("a", "x", "one", ready=False, waiting={"reason": "ImagePullBackOff"})
    found, silent = streams_of([waiting], None)
    assert not found
    assert "ImagePullFailed" in silent[0]


@pytest.mark.parametrize(
    ("state", "begun"),
    [
        ({"state": {"running": {}}}, True),
        ({"state": {"terminated": {"exitCode": 0}}}, True),
        ({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}, True),
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, False),
        ({}, False),
    ],
)
def test_a_container_that_ran_has_a_log_also_after_its_end(state: Any, begun: bool) -> None:
    """Such as the containers of a Job."""
    job = pod("a", "x", "one")
    job["status"]["containerStatuses"] = [{"name": "one", **state}]
    assert [each.container for each in streams_of([job], None)[0]] == (["one"] if begun else [])


async def test_the_client_pod_must_be_ready() -> None:
    assert await client_pod(cluster(pod("c", "keystoneclient", "c")), "openstack") == "c"
    with pytest.raises(CliError, match="its readiness probe fails"):
        await client_pod(cluster(pod("c", "keystoneclient", "c", ready=False)), "openstack")
    with pytest.raises(CliError, match="HelmBundle openstack/openstack-keystone: it does not exist"):
        await client_pod(cluster(), "openstack")


async def test_pods_of_one_part_of_a_service_and_of_a_broker() -> None:
    compute, broker = pod("nova-compute-x", "nova", "c"), pod("nova-rabbitmq-0", "nova-rabbitmq", "r")
    compute["metadata"]["labels"]["component"] = "compute"
    there = cluster(compute, pod("nova-api-x", "nova", "a"), broker, pod("libvirt-x", "libvirt", "l"))

    async def names(what: str) -> list[str]:
        return [each["metadata"]["name"] for each in await find_pods(there, what, "openstack")]

    assert await names("nova-compute") == ["nova-compute-x"]
    assert await names("nova-rabbitmq") == ["nova-rabbitmq-0"]
    assert await names("nova") == ["libvirt-x", "nova-api-x", "nova-compute-x"], "all charts of the service"


def test_a_line_as_text_has_nothing_that_a_terminal_obeys() -> None:
    """JSON escapes it; the text may be from a tenant's OpenStack."""
    line = {
        "event": "reconcile failed\x1b[2J",
        "level": "info",
        "timestamp": "2026-01-01T00:00:00Z",
        "cause": "https://t.example: \x1b]0;owned\x07",
        "other": {"a": "\u202e"},
        "exception": "Traceback\n  line \x1b[2J",
    }
    shown = readable(json.dumps(line))
    assert all(each.isprintable() for each in shown.split("\n"))
    assert shown.split("\n")[0].startswith(
        "2026-01-01 00:00:00  info     reconcile failed\\x1b[2J  cause=https://t.example:"
    )
    assert shown.split("\n")[1:] == ["    Traceback", "      line \\x1b[2J"]


@pytest.mark.parametrize("depth", [300, 2_000, 100_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}"), ("[", "")])
def test_a_line_of_many_brackets_is_shown(begin: str, end: str, depth: int) -> None:
    line = '{"event": ' + begin * depth + "1" + end * depth + "}"
    assert readable(line).strip()


@pytest.mark.parametrize("line", ["plain\ttext", "[1]", '{"a": 1}', "{broken"])
def test_a_line_that_is_not_structured_is_shown_as_it_is(line: str) -> None:
    assert readable(line) == line


@pytest.mark.parametrize(
    "line", ["a\x1b[2J\tb", '{"a": "\x1b[2J\tb"}', '{"event": \x1b[2J\tb', '["\x9b2J\tb"]', "a\rb\tb"]
)
def test_a_line_that_is_not_structured_has_nothing_that_a_terminal_obeys(line: str) -> None:
    parts = readable(line).split("\t")
    assert len(parts) == 2
    assert all(each.isprintable() for each in parts)


class Reader:
    """Logs of pods; those of some cannot be read."""

    def __init__(self, broken: set[str]) -> None:
        self.broken = broken

    async def lines(self, of: Any, part: Any, *, follow: bool) -> AsyncIterator[str]:
        yield f"begin of {of.pod}"
        if of.pod in self.broken:
            raise TransientError(f"{of.pod}: broken")


@pytest.mark.parametrize("more", [[], ["--follow"]])
@pytest.mark.parametrize(("broken", "code"), [(set(), 0), ({"a"}, 0), ({"a", "b"}, 1)])
def test_logs_of_which_none_could_be_read_end_with_1(
    monkeypatch: pytest.MonkeyPatch, more: list[str], broken: set[str], code: int
) -> None:
    there = cluster(pod("a", "keystone", "c"), pod("b", "keystone", "c"))
    connect(monkeypatch, there)
    monkeypatch.setattr(logs, "_reader", lambda cluster: Reader(broken))
    result = CliRunner().invoke(app, ["logs", "keystone", *more])
    assert result.exit_code == code
    assert "a | begin of a" in result.stdout
    assert result.stderr.split("\n")[:-1] == [f"{name}: broken" for name in sorted(broken)]
