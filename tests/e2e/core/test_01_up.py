"""`stackwright up` on a machine without a cloud ends with a virtual machine, and the cloud is then at rest."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from full import FullCloud
from harness import eventually, run
from vms import Vms

from stackwright.smoke.checks import CHECKS
from stackwright.smoke.icmp import ping
from tests.e2e.core.versions import versions

AGAIN_LIMIT = 30  # seconds; normal are 3 to 8, a busy machine takes a multiple, and a restart of any program far more


def test_up_ends_with_a_vm_that_is_active_pinged_and_logged_in_to_by_its_floating_ip(
    full_cloud: FullCloud, vms: Vms
) -> None:
    demo = vms.demo
    assert f"stackwright@{demo.floating}" in full_cloud.said, "it says how to log in"
    assert vms.server(demo).status == "ACTIVE"
    assert ping(demo.floating)
    assert vms.ssh(demo, "hostname") == "demo"
    assert demo.fixed in vms.ssh(demo, "ip address show dev eth0")


def test_a_second_up_changes_nothing_and_takes_seconds(full_cloud: FullCloud, vms: Vms) -> None:
    full_cloud.stackwright("up", limit=600)  # updates an operator of older sources
    kinds = "all,ingresses.networking.k8s.io,openstackdeployments,helmbundles,novas,neutrons,glances"

    def read() -> dict[str, Any]:
        return versions(full_cloud.get(kinds, "-n", full_cloud.namespace)["items"])

    before, server, start = read(), vms.server(vms.demo), time.monotonic()
    out = full_cloud.stackwright("up", limit=60)
    assert time.monotonic() - start < AGAIN_LIMIT
    assert read() == before
    assert "✗" not in out
    again = vms.server(vms.demo)
    assert (again.id, again.updated_at) == (server.id, server.updated_at)


def test_plan_and_status_of_the_full_cloud(full_cloud: FullCloud) -> None:
    assert "No changes" in full_cloud.stackwright("plan")
    eventually(lambda: "does not report" not in full_cloud.stackwright("status"), limit=60, pause=2)
    told = full_cloud.stackwright("status")
    for part in ("Nova openstack/nova", "Neutron openstack/neutron", "Public endpoints", "nova-compute"):
        assert part in told


def test_smoke_passes_every_check(full_cloud: FullCloud, vms: Vms, tmp_path: Path) -> None:
    path = tmp_path / "smoke.xml"
    print(full_cloud.stackwright("smoke", "--junit", str(path), limit=1500))
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    assert len(cases) == sum(not check.service for check in CHECKS) + 1, "each check, and the cleaning up"
    assert not [case.get("name") for case in cases if {part.tag for part in case} - {"system-out"}]
    assert [server.name for server in vms.sdk.compute.servers(all_projects=True)] == ["demo"], "it cleans up"


def test_api_writes_at_rest_are_0_a_minute(full_cloud: FullCloud) -> None:
    full_cloud.wait_ready()
    done = run(sys.executable, "-m", "bench", "rest", "--seconds", "60", "--output", "json", limit=180)
    found = json.loads(done.out[done.out.index("{\n") : done.out.rindex("}") + 1])
    (ours,) = [figure for figure in found["figures"] if figure["of"] == "API writes a minute, ours"]
    assert ours["median"] == 0, ours["note"]
