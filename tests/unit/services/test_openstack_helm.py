"""The mapping of our values to OpenStack-Helm's: completeness, documentation, and rejected values."""

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.services.openstack_helm import CHARTS, Translated, leaves, merged_layers, rules, translate
from stackwright.services.openstack_helm.fixed import ADDED, FIXED
from support.paths import ROOT

PAGE = ROOT / "docs/howto/use-openstack-helm-charts.md"
CLOUD = """
apiVersion: lcm.mirantis.com/v1alpha1
kind: OpenStackDeployment
metadata: {name: cloud}
spec: {openstack_version: epoxy, preset: core, size: single, public_domain_name: cloud.example}
"""


def defaults(chart: str) -> dict:
    return yaml.safe_load((ROOT / f"charts/{chart}/values.yaml").read_text())


def values(chart: str, case: str = "all-features") -> dict:
    return yaml.safe_load((ROOT / f"tests/golden/values/{case}.yaml").read_text())[f"openstack-{chart}"]


def result(chart: str, more: dict | None = None) -> Translated:
    return translate(chart, merged_layers(values(chart), more or {}), defaults(chart))


def said(chart: str) -> dict:
    """All values of our chart except empty ones."""
    return {
        ".".join(path): value
        for path, value in leaves(merged_layers(defaults(chart), values(chart)))
        if value is not None
    }


@pytest.mark.parametrize("enabled", [None, True])
def test_nothing_is_read_from_memcached_without_our_scripts(enabled):
    """Both clients unpickle what any pod put there. The published chart of Glance fills in an empty list of servers."""
    keystone = result("keystone", {"conf": {"keystone": {"cache": {"enabled": enabled}}}})
    assert keystone.values["conf"]["keystone"]["cache"] == {"enabled": False, "backend": None}
    token = result("glance").values["conf"]["glance"]["keystone_authtoken"]
    assert token["memcached_servers"] == " "
    assert "memcache_use_advanced_pool" not in token


@pytest.mark.parametrize("chart", CHARTS)
def test_every_value_is_carried_over_or_listed_with_a_reason(chart):
    done = result(chart)
    there = {".".join(path) for path, _ in leaves(done.values)}
    listed = dict(done.left_out)
    for path in said(chart):
        rule = next(rule for rule in rules(chart) if rule.fits(tuple(path.split("."))))
        if not rule.theirs:
            assert listed.pop(path)
            continue
        targets = [".".join(rule.target(target, tuple(path.split(".")))) for target in rule.theirs]
        missing = [t for t in targets if not any(name == t or name.startswith(f"{t}.") for name in there)]
        assert not missing or rule.made, f"{path} is not in {missing}"
        assert not rule.made or len(missing) < len(targets), f"{path} makes none of {missing}"
    assert not listed


@pytest.mark.parametrize("chart", CHARTS)
def test_copied_values_are_unchanged(chart):
    there = dict(leaves(result(chart).values))
    for path, value in said(chart).items():
        rule = next(rule for rule in rules(chart) if rule.fits(tuple(path.split("."))))
        for target in () if rule.made else rule.theirs:
            found = there[rule.target(target, tuple(path.split(".")))]
            assert str(found) == str(value) or path.startswith("endpoints.image.port")


@pytest.mark.parametrize("chart", CHARTS)
def test_each_rule_has_its_use(chart):
    """A rule for a value that our chart does not have would never be missed."""
    known = {*said(chart), *(".".join(path) for path, _ in leaves(merged_layers(defaults(chart), TAKEN)))}
    known |= {f"secrets.conf.{chart}.name", f"secrets.conf.{chart}.digest"}
    idle = [rule.ours for rule in rules(chart) if not any(rule.fits(tuple(path.split("."))) for path in known)]
    assert not idle


# Values of our charts that no cloud of tests/golden/values uses.
TAKEN = {
    "images": {"pull_secrets": []},
    "network": {"policies": {"api": []}},
    "pod": {
        "annotations": {"default": {"x": "z"}, "api": {"x": "z"}, "db-sync": {"x": "z"}},
        "priorityClassName": {"api": "x", "db-sync": "x"},
        "probes": {"api": {"liveness": {"enabled": True}}},
        "security_context": {"api": {"container": {"runAsNonRoot": True}}},
    },
    "endpoints": {
        "identity": {
            "hosts": {"public": "x"},
            "host_fqdn_override": {"internal": "x"},
            "scheme": {"public": "https"},
            "port": {"api": {"public": 443}},
        }
    },
}


def test_a_large_number_is_text_because_their_charts_would_write_an_exponent():
    done = result("glance", {"conf": {"glance": {"DEFAULT": {"image_size_cap": 1099511627776, "debug": True}}}})
    assert done.values["conf"]["glance"]["DEFAULT"]["image_size_cap"] == "1099511627776"
    assert done.values["conf"]["glance"]["DEFAULT"]["debug"] is True


def test_without_a_volume_none_is_rendered():
    done = result("glance", {"volume": {"store": None}})
    assert done.values["storage"] == "ephemeral"
    assert "default_backend" not in done.values["conf"]["glance"]["glance_store"]


@pytest.mark.parametrize("chart", CHARTS)
def test_a_rule_for_the_network_switches_their_policy_on_and_nothing_else(chart):
    allowed = [{"from": [{"podSelector": {"matchLabels": {"application": "nova"}}}]}]
    done, before = result(chart, {"network": {"policies": {"api": allowed}}}), result(chart)
    assert done.values["network_policy"] == {chart: {"policyTypes": ["Ingress"], "ingress": allowed}}
    assert done.values["manifests"] == {**before.values["manifests"], "network_policy": True}


@pytest.mark.parametrize("chart", CHARTS)
def test_sensitive_options_are_read_last(chart):
    def files(conf: dict | None) -> list[tuple[str, str]]:
        done = result(chart, {"secrets": {"conf": conf}})
        sources = [each["secret"] for each in done.values["pod"]["etcSources"][f"{chart}_api"]]
        return [(each["name"], item["path"]) for each in sources for item in each["items"]]

    without = files(None)
    assert without[0] == (f"{chart}-database", "database.conf")
    assert files({chart: {"name": "hidden", "digest": "d"}}) == [*without, ("hidden", "zz-overrides.conf")]


@pytest.mark.parametrize(
    ("chart", "more", "path"),
    [
        ("keystone", {"pod": {"colour": "red"}}, "pod.colour"),
        ("keystone", {"conf": {"apache": {"x": 1}}}, "conf.apache.x"),
        ("keystone", {"secrets": {"fernet": "mine"}}, "secrets.fernet"),
        ("keystone", {"network": {"policies": {"db-sync": []}}}, "network.policies.db-sync"),
        (
            "glance",
            {"pod": {"lifecycle": {"disruption_budget": {"api": {"max_unavailable": "50%"}}}}},
            "pod.lifecycle.disruption_budget.api.max_unavailable",
        ),
    ],
)
def test_a_value_without_an_equivalent_is_rejected_by_name(chart, more, path):
    with pytest.raises(ValueError, match=re.escape(path)):
        result(chart, more)


def test_other_charts_have_no_mapping():
    with pytest.raises(ValueError, match="supported charts: keystone, glance"):
        translate("nova", {}, {})


@pytest.mark.parametrize("chart", CHARTS)
def test_the_page_shows_the_table(chart):
    section = PAGE.read_text().partition(f"### {chart.title()}\n")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == table(chart)


def test_the_page_shows_the_additions_of_their_charts():
    section = PAGE.read_text().partition("## What their charts add\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    wanted = [f"| `{c}` | `[{s}] {o}` | {why} |" for c in CHARTS for (s, o), why in ADDED[c].items()]
    assert rows == wanted


@pytest.mark.parametrize("chart", CHARTS)
def test_the_page_names_the_manifests_that_are_on(chart):
    on = sorted(name for name, value in FIXED[chart]["manifests"].items() if value)
    assert f"| `{chart}` | {', '.join(f'`{name}`' for name in on)} |" in PAGE.read_text()


@pytest.mark.parametrize(("chart", "service"), [("keystone", "identity"), ("glance", "image")])
def test_the_page_switches_every_object_of_our_chart_off(chart, service):
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example
    services = yaml.safe_load(example[1])["spec"]["services"]
    assert services[service][chart]["values"]["manifests"] == dict.fromkeys(defaults(chart)["manifests"], False)


def table(chart: str) -> list[str]:
    rows = []
    for rule in rules(chart):
        theirs = ", ".join(f"`{path}`" for path in rule.theirs)
        rows.append(
            f"| `{rule.ours}` | {f'made into {theirs}' if rule.made else theirs or f'stays behind: {rule.why}'} |"
        )
    return rows


@pytest.fixture
def cloud(tmp_path: Path) -> str:
    (tmp_path / "cloud.yaml").write_text(CLOUD)
    return str(tmp_path / "cloud.yaml")


def run(*args: str):
    return CliRunner().invoke(app, ["values", *args])


def test_the_command_prints_values_of_our_chart(cloud):
    done = run("keystone", "-f", cloud)
    assert done.exit_code == 0, done.output
    assert yaml.safe_load(done.stdout)["network"]["ingress"]["domain"] == "cloud.example"


def test_the_command_prints_their_values_and_reports_omitted_ones(cloud):
    done = run("glance", "-f", cloud, "--for", "openstack-helm", "-o", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["endpoints"]["image"]["host_fqdn_override"]["public"]["host"] == "glance.cloud.example"
    assert found["images"]["tags"]["glance_api"].startswith("stackwright.local/glance:")
    assert "conf.glance.oslo_concurrency.lock_path: " in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("heat",), "not a chart of this cloud; allowed:"),
        (("keystne",), "not a chart of this cloud; did you mean keystone? allowed:"),
        (("nova", "--for", "openstack-helm"), "no translation for OpenStack-Helm"),
    ],
)
def test_the_command_reports_unsupported_requests(cloud, args, message):
    done = run(*args, "-f", cloud)
    assert done.exit_code == 1
    assert message in done.stderr


def test_the_command_requires_one_cloud(tmp_path):
    (tmp_path / "two.yaml").write_text(f"{CLOUD}---{CLOUD.replace('name: cloud}', 'name: other}')}")
    done = run("keystone", "-f", str(tmp_path / "two.yaml"))
    assert done.exit_code == 1
    assert "must contain exactly one cloud" in done.stderr
