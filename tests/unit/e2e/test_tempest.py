"""The harness of Tempest: its configuration, its exclusions and their reasons, its results. Tempest itself is e2e."""

from __future__ import annotations

import configparser
import json
import re
from dataclasses import replace

import pytest
from tempest import conf, exclusions, job, stacks
from tempest.facts import Facts
from tempest.inventory import differences
from tempest.report import parse

from support.paths import ROOT

FACTS = Facts(
    admin={
        "username": "admin",
        "project_name": "admin",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    },
    region="RegionOne",
    domain="cloud.example",
    address="192.0.2.10",
    services=frozenset({"identity", "image", "placement", "compute", "networking"}),
    extensions=("port-security", "router"),
    computes=1,
    image="image-id",
    flavor="small-id",
    larger="large-id",
    external="net-id",
    floating="public",
)
ORDER = job.Order("stackwright.local/tempest:0123", "smoke", "^a\n")


def read(facts: Facts) -> configparser.RawConfigParser:
    found = configparser.RawConfigParser(default_section="none", strict=True)
    found.read_string(conf.text(facts))
    return found


def test_the_configuration_contains_the_facts_of_the_cloud() -> None:
    found = read(FACTS)
    assert found["identity"]["uri_v3"] == "https://keystone.cloud.example/v3"
    assert found["network"]["public_network_id"] == "net-id"
    assert found["compute"]["flavor_ref_alt"] == "large-id"
    assert found["network-feature-enabled"]["port_security"] == "true"
    assert dict(found["service_available"]) == {
        "glance": "true",
        "nova": "true",
        "neutron": "true",
        "horizon": "false",
        "cinder": "false",
        "swift": "false",
        "heat": "false",
        "barbican": "false",
    }
    assert not {"heat_plugin", "key_manager"} & {*found}


def test_the_configuration_contains_storage_if_present() -> None:
    found = read(replace(FACTS, services=FACTS.services | {"block-storage", "object-storage"}))
    assert found["service_available"]["cinder"] == "true"
    assert found["service_available"]["swift"] == "true"
    assert found["volume"]["catalog_type"] == "volumev3"
    assert found["volume-feature-enabled"]["multi_backend"] == "false"
    assert found["object-storage"]["operator_role"] == "member"


def test_the_configuration_contains_stacks_if_present() -> None:
    found = read(replace(FACTS, services=FACTS.services | {"orchestration"}))
    assert found["service_available"]["heat"] == "true"
    assert found["heat_plugin"]["auth_url"] == "https://keystone.cloud.example/v3"
    assert found["heat_plugin"]["ca_file"] == conf.CA
    assert not [name for name in found["heat_plugin"] if "password" in name]


def test_the_configuration_contains_secrets_if_present() -> None:
    found = read(replace(FACTS, services=FACTS.services | {"key-manager"}))
    assert found["service_available"]["barbican"] == "true"
    assert found["enforce_scope"]["barbican"] == "true"
    assert found["image_signature_verification"]["enforced"] == "false"


@pytest.mark.parametrize(("computes", "moves"), [(1, "false"), (2, "true")])
def test_migrations_are_enabled_with_several_nodes(computes: int, moves: str) -> None:
    found = read(replace(FACTS, computes=computes))
    assert found["compute-feature-enabled"]["live_migration"] == moves
    assert found["compute-feature-enabled"]["cold_migration"] == moves
    assert found["compute"]["min_compute_nodes"] == str(computes)


def test_the_password_is_in_a_secret_only() -> None:
    pod = job.job(FACTS, ORDER, "openstack")["spec"]["template"]["spec"]
    passwords = [each for each in pod["containers"][0]["env"] if each["name"].endswith("PASSWORD")]
    assert [each["name"] for each in passwords] == list(conf.PASSWORDS)
    for password in passwords:
        assert password["valueFrom"]["secretKeyRef"] == {"name": "keystone-admin", "key": "password"}
    assert "admin_password" not in json.dumps(job.config_map(FACTS, ORDER, "openstack"))


def test_the_pod_gets_its_files_and_the_names_of_the_endpoints() -> None:
    data = job.config_map(FACTS, ORDER, "openstack")["data"]
    assert {"run.sh", "ping", "results.py", "tempest.conf", "exclude"} <= set(data)
    (alias,) = job.job(FACTS, ORDER, "openstack")["spec"]["template"]["spec"]["hostAliases"]
    assert alias["ip"] == "192.0.2.10"
    assert "nova.cloud.example" in alias["hostnames"]


def test_every_exclusion_is_a_pattern_with_a_reason() -> None:
    found = exclusions.load()
    assert found
    for each in found:
        re.compile(each.pattern)
        assert len(each.reason.removeprefix(exclusions.SLOW)) > 10, each


def test_an_exclusion_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="line 3: b has no reason"):
        exclusions.parse("# why\na\nb\n")
    with pytest.raises(ValueError, match="line 3: b has no reason"):
        exclusions.parse("# a remark\n\nb\n")


def test_the_docs_show_the_exclusions() -> None:
    page = (ROOT / "docs/reference/tempest.md").read_text()
    assert exclusions.table(exclusions.load()) in page, "copy tests/e2e/tempest/exclusions.txt to the table of the page"


def test_the_docs_show_the_tests_of_stacks_that_are_left_out() -> None:
    page = (ROOT / "docs/reference/tempest.md").read_text()
    assert stacks.table() in page, "copy LEFT_OUT of tests/e2e/tempest/stacks.py to the table of the page"
    for name in stacks.LEFT_OUT:
        assert not re.match(stacks.SELECTED, f"{stacks.PLUGIN}.{name}.Some.test[id-1]"), name
    for name in ("api.test_heat_api.stacks_create_stack.test_request", "functional.test_hooks.HooksTest.test_a"):
        assert re.match(stacks.SELECTED, f"{stacks.PLUGIN}.{name}[id-1]")


def test_one_process_runs_the_tests_of_heats_api() -> None:
    """stestr runs tests in one process whose names have the same match."""
    (line,) = [line for line in (job.POD / "run.sh").read_text().splitlines() if "group_regex" in line]
    written = line.split("group_regex=")[2].split("/'")[0].replace("\\\\", "\\")
    group = re.compile(written)
    api = [f"{stacks.PLUGIN}.api.test_heat_api.{name}.test_request[id-1]" for name in ("stacks_create", "stacks_show")]
    assert len({group.match(name)[0] for name in api}) == 1  # type: ignore[index]
    others = [f"{stacks.PLUGIN}.functional.test_hooks.{name}[id-1]" for name in ("A.x", "B.x")]
    assert len({group.match(name)[0] for name in others}) == 2  # type: ignore[index]


def test_slow_tests_run_in_a_complete_run() -> None:
    found = exclusions.parse("# time: three boots\nslow\n# no Cinder\nvolume\n")
    assert exclusions.patterns(found, slow_too=False) == "slow\nvolume\n"
    assert exclusions.patterns(found, slow_too=True) == "volume\n"


def test_results_are_read_from_the_log() -> None:
    log = "\n".join(
        [
            "something else",
            said("a.B.c[id-1,smoke]", "success", 3.5),
            said("a.B.d[id-2,smoke]", "fail", 1, text="traceback:\nAssertionError: 1 != 2"),
            said("a.B.e[id-3,smoke]", "skip", 0, reason="Cinder is not available"),
            said("setUpClass (a.F)", "fail", 0, text="traceback:\nTimeout"),
            "tempest: done",
        ]
    )
    report = parse(log)
    assert report.finished
    assert report.counts == {"passed": 1, "failed": 2, "skipped": 1}
    text = report.text()
    assert "1 passed, 2 failed, 1 skipped" in text
    assert "✗ a.B.d (1 s)\n    traceback:\n    AssertionError: 1 != 2" in text
    assert "- a.B.e: Cinder is not available" in text
    assert "   1 skipped: Cinder is not available\n" in text
    assert not parse(log.replace("tempest: done", "")).finished


def test_a_test_is_skipped_for_a_known_reason_only() -> None:
    reasons = ["Less than 2 nodes", "Less than 2 nodes", "Less than 2 nodes today", "router extension not enabled."]
    report = parse("\n".join(said(f"a.B.c{number}", "skip", 0, reason) for number, reason in enumerate(reasons)))
    assert report.reasons["Less than 2 nodes"] == 2
    assert report.unexpected([r"Less than \d nodes"]) == ["Less than 2 nodes today", "router extension not enabled."]
    assert report.unexpected([r"Less than \d nodes.*", r"\w+ extension not enabled\."]) == []


def test_remains_of_an_interrupted_run_of_tempest_may_disappear() -> None:
    before = {"projects": {"admin", "tempest-ServersTest-12"}, "networks": {"public", "tempest-net-3"}}
    assert differences(before, {"projects": {"admin"}, "networks": {"public"}}) == []
    assert differences(before, before) == []


def test_all_else_that_was_left_or_is_gone_is_named() -> None:
    before = {"networks": {"public", "tempest-net-3"}, "images": {"guest", "tempestuous"}, "volumes": set[str]()}
    after = {"networks": {"tempest-net-3", "tempest-net-4"}, "images": {"guest"}, "volumes": {"a"}, "snapshots": {"b"}}
    assert differences(before, after) == [
        "images: tempestuous is gone",
        "networks: tempest-net-4 was left",
        "networks: public is gone",
        "snapshots: b was left",
        "volumes: a was left",
    ]


def said(name: str, status: str, seconds: float, reason: str = "", text: str = "") -> str:
    found = {"id": name, "status": status, "seconds": seconds, "reason": reason, "text": text}
    return f"result: {json.dumps(found)}"
