"""The declaration of the ingress: its certificate, and values that its chart takes."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from stackwright.api.services import ServiceSpec
from stackwright.local.tools import binary
from stackwright.services.declaration import Certificate, Context
from stackwright.services.ingress import SERVICE

CHART = Path(__file__).parents[2] / "charts/ingress"
FIELDS = {"ca_cert": "ca", "api_cert": "crt", "api_key": "key"}


def context(**settings):
    spec = ServiceSpec.model_validate({"release": "epoxy", "publicDomain": "cloud.example.org"})
    images = {"ingress": "example.org/ingress:1"}
    return Context("ingress", "openstack", spec, images, SERVICE.settings.model_validate(settings))


def test_without_a_certificate_of_the_user_every_name_below_the_domain_gets_one():
    assert SERVICE.certificates(context()) == (Certificate("openstack-public-tls", ("*.cloud.example.org",)),)


def test_the_users_own_certificate_is_taken_from_where_it_is():
    def ref(key):
        return {"value_from": {"secret_key_ref": {"name": "mine", "key": key}}}

    made = SERVICE.certificates(context(public_endpoints={field: ref(key) for field, key in FIELDS.items()}))
    source = {"ca.crt": ("mine", "ca"), "tls.crt": ("mine", "crt"), "tls.key": ("mine", "key")}
    assert made == (Certificate("openstack-public-tls", source=source),)


def test_the_chart_takes_the_values(tmp_path):
    helm = binary("helm")
    if not helm.exists():
        pytest.fail("this test needs helm: build the tools")
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps(SERVICE.charts[0].values(context())))
    done = subprocess.run(
        [helm, "template", "x", CHART, f"--values={values}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = {item["kind"]: item for item in yaml.safe_load_all(done.stdout) if item}
    pod = found["DaemonSet"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"openstack-control-plane": "enabled"}
    assert {port.get("hostPort") for port in pod["containers"][0]["ports"]} == {80, 443, None}
    assert found["IngressClass"]["metadata"]["name"] == "openstack-ingress"
