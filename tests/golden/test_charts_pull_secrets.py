"""Pull Secrets: all pods of all charts name them, and the operator's chart tells the operator their names."""

import json

import pytest
import yaml

from tests.golden.test_charts import CASES, CHARTS, helm

REGISTRY = ("--set", "images.pull_secrets[0].name=registry")
FIRST = {case.parent.parent.name: case for case in reversed(CASES)}


def rendered(chart, *more):
    path = next(each for each in CHARTS if each.name == chart)
    text = helm("template", "release", str(path), "--namespace", "openstack", "-f", str(FIRST[chart]), *more).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def pods(objects):
    for each in objects:
        spec = each.get("spec") or {}
        spec = (spec.get("jobTemplate") or {}).get("spec") or spec
        if "template" in spec and "containers" in (spec["template"].get("spec") or {}):
            yield f"{each['kind']} {each['metadata']['name']}", spec["template"]["spec"]


@pytest.mark.parametrize("chart", sorted(FIRST))
def test_all_pods_of_a_chart_name_the_pull_secrets(chart):
    found = dict(pods(rendered(chart, *REGISTRY)))
    assert found
    assert [name for name, pod in found.items() if pod.get("imagePullSecrets") != [{"name": "registry"}]] == []


def test_the_operator_knows_the_names_of_the_pull_secrets():
    def files(*more):
        (found,) = [each for each in rendered("stackwright", *more) if each["kind"] == "ConfigMap"]
        return found["data"]

    assert "pulls.json" not in files()
    assert json.loads(files(*REGISTRY)["pulls.json"]) == {"secrets": [{"name": "registry"}]}
