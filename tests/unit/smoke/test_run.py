"""The checks against a cloud in memory: their findings and failures, and that no resource remains."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stackwright.cli.ui.progress import silent
from stackwright.core.openstack.deployed.agents import Agent
from stackwright.smoke import leftovers, report
from stackwright.smoke.checks import CHECKS, chosen, names
from stackwright.smoke.checks.machine import socket_url
from stackwright.smoke.run import FAILED, PASSED, SKIPPED, Result, run
from stackwright.smoke.tenant import CloudError, Project, Rule
from tests.unit.smoke.cloud_in_memory import World, stage

RULES = {Rule("icmp"), Rule("tcp", 22)}


def outcomes(world: World, folder: Path) -> dict[str, Result]:
    results = run(stage(world, folder), CHECKS, silent, lambda result: None)
    return {result.name: result for result in results}


def test_all_is_well_and_nothing_remains(tmp_path: Path) -> None:
    world = World()
    results = outcomes(world, tmp_path)
    assert [*results] == [*(name for name in names() if name not in ("stack", "secret", "zone")), "cleanup"]
    assert {result.outcome for result in results.values()} == {PASSED}, results
    assert results["dhcp"].message == "192.168.213.5"
    assert results["resize"].message == "97 → 195 MiB of memory"
    assert not (world.servers or world.things or world.projects)
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    assert world.rules == RULES


def test_a_machine_that_does_not_boot_is_explained_with_the_services_that_are_down(tmp_path: Path) -> None:
    world = World(boot_status="ERROR", fault="No valid host was found.", computes=[])
    world.agents = [Agent("DHCP agent", "node2", False)]
    results = outcomes(world, tmp_path)
    assert results["boot"].outcome == FAILED
    for word in ("No valid host was found.", "Down: DHCP agent on node2.", "No nova-compute exists"):
        assert word in results["boot"].message
    assert {results[name].outcome for name in ("dhcp", "ping", "resize")} == {SKIPPED}
    assert results["cleanup"].outcome == PASSED
    assert not (world.servers or world.projects)


def test_without_a_lease_the_console_is_shown(tmp_path: Path) -> None:
    results = outcomes(World(log="Booting\nudhcpc: no lease\n"), tmp_path)
    assert results["dhcp"].outcome == FAILED
    assert "not within 180 s" in results["dhcp"].message
    assert "  | udhcpc: no lease" in results["dhcp"].message
    assert results["dhcp"].seconds > 180


def test_a_key_from_elsewhere_is_no_metadata(tmp_path: Path) -> None:
    world = World()
    world.log = world.log.replace("key from metadata", "no key")
    assert "with no key" in outcomes(world, tmp_path)["metadata"].message


def test_a_group_that_drops_nothing(tmp_path: Path) -> None:
    world = World(leaky=True)
    results = outcomes(world, tmp_path)
    assert "ping is closed without its rule: not within 60 s" in results["security-groups"].message
    assert world.rules == RULES
    assert results["reboot"].outcome == PASSED


def test_a_resize_without_capacity(tmp_path: Path) -> None:
    results = outcomes(World(resize_is_put_back=True), tmp_path)
    assert "allow_resize_to_same_host" in results["resize"].message


def test_no_external_network(tmp_path: Path) -> None:
    results = outcomes(World(external=None), tmp_path)
    assert "floating_network" in results["network"].message
    assert results["boot"].message == "needs network"


@pytest.mark.parametrize("moment", ["boot", "ping", "ssh"])
def test_an_interrupt_cleans_up_and_is_passed_on(tmp_path: Path, moment: str) -> None:
    world = World()

    def interrupt(what: str) -> None:
        if what == moment:
            raise KeyboardInterrupt

    world.during = interrupt
    with pytest.raises(KeyboardInterrupt):
        outcomes(world, tmp_path)
    assert not (world.servers or world.things or world.projects)


def test_a_cloud_that_refuses_fails_the_check_alone(tmp_path: Path) -> None:
    world = World()

    def refuse(what: str) -> None:
        if what == "boot":
            raise CloudError("boot: HTTP 403: quota")

    world.during = refuse
    results = outcomes(world, tmp_path)
    assert results["boot"].message == "boot: HTTP 403: quota"
    assert results["cleanup"].outcome == PASSED


def test_kept_resources_remain_until_the_next_run(tmp_path: Path) -> None:
    world = World()
    first = stage(world, tmp_path)
    run(first, chosen(["boot"]), silent, lambda result: None, keep=True)
    assert world.servers
    assert world.projects["smoke-1"].note.startswith("stackwright smoke: process")
    mine = world.projects["smoke-1"]
    world.projects["smoke-1"] = Project("smoke-1", "smoke-1", mine.note.replace(str(os.getpid()), "4194999"))
    second = stage(world, tmp_path)
    second.name = "smoke-2"
    results = run(second, chosen(["login"]), silent, lambda result: None)
    assert "smoke-1" in results[0].message
    assert not (world.servers or world.projects)


def test_which_projects_are_swept() -> None:
    now = time.time()
    here = Project("p", "smoke-1", leftovers.note())
    assert not leftovers.is_abandoned(here, True, socket.gethostname(), now)
    assert leftovers.is_abandoned(here, False, socket.gethostname(), now)
    assert not leftovers.is_abandoned(here, False, "elsewhere", now)
    assert leftovers.is_abandoned(here, True, "elsewhere", now + 3 * 3600)
    assert not leftovers.is_abandoned(Project("p", "smoke-signals", "a user's"), False, "x", now + 1e6)


@pytest.mark.parametrize("digits", [10, 20, 400, 5000])
def test_numbers_that_no_run_has_noted_are_no_note(digits: int) -> None:
    """Whoever may create projects writes their descriptions."""
    many, host = "9" * digits, socket.gethostname()
    for process, since in ((many, "1"), ("1", f"{many}999")):
        project = Project("p", "smoke-1", f"stackwright smoke: process {process} on {host} since {since}")
        assert leftovers._is_alive(project) is False
        assert not leftovers.is_abandoned(project, False, host, time.time())


def test_selected_checks_include_their_requirements() -> None:
    assert [check.name for check in chosen(["ping"])] == ["login", "image", "flavors", "network", "boot", "ping"]
    assert [check.name for check in chosen([])] == names()
    with pytest.raises(ValueError, match="unknown check pong; did you mean ping\\? allowed: login, image"):
        chosen(["pong"])


def test_junit_is_valid_xml_with_any_console_output() -> None:
    results = [
        Result("a", "A", PASSED, 1.5, "fine & <good>"),
        Result("b", "B", FAILED, 2, "bad \x1b[0m\n<log>"),
        Result("c", "C", SKIPPED, 0, "needs b"),
    ]
    suite = ElementTree.fromstring(report.junit(results).encode())
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == "1"
    failure = suite.find("testcase[@name='b']/failure")
    assert failure is not None
    assert failure.text == "bad ?[0m\n<log>"
    assert report.as_dict(results)["passed"] is False


def test_the_address_of_a_console() -> None:
    page = "https://novncproxy.cloud.example/vnc_auto.html?path=%3Ftoken%3Dabc"
    assert socket_url(page) == "wss://novncproxy.cloud.example/?token=abc"
    older = "https://novncproxy.cloud.example/vnc_auto.html?token=abc"
    assert socket_url(older) == "wss://novncproxy.cloud.example/?token=abc"
