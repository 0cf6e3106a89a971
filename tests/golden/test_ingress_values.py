"""The chart of the ingress accepts the values of its declaration."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context
from stackwright.services.ingress import SERVICE
from stackwright.services.values import merged_values
from support.paths import ROOT
from tests.golden.test_charts import helm


def test_the_chart_accepts_the_values(tmp_path: Path) -> None:
    spec = ServiceSpec.model_validate({"release": "epoxy", "publicDomain": "cloud.example.org"})
    images = {"ingress": "example.org/ingress:1"}
    context = Context("ingress", "openstack", spec, images, SERVICE.settings.model_validate({}))
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps(merged_values(SERVICE, context, SERVICE.charts[0])))
    done = helm("template", "x", str(ROOT / "charts/ingress"), f"--values={values}")
    assert done.returncode == 0, done.stderr
    found = {item["kind"]: item for item in yaml.safe_load_all(done.stdout) if item}
    pod = found["DaemonSet"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"openstack-control-plane": "enabled"}
    assert {port.get("hostPort") for port in pod["containers"][0]["ports"]} == {80, 443, None}
    assert found["IngressClass"]["metadata"]["name"] == "openstack-ingress"
