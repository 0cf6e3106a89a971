"""The certificate of the webhook: values that contradict each other are refused, and rights follow from its source."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from support.paths import ROOT
from tests.golden.test_charts import helm

CHART = ROOT / "charts/stackwright"
PEM = "-----BEGIN CERTIFICATE-----"


def options(source: str, *more: str) -> list[str]:
    return [f"--set=webhook.certificate.source={source}", *(f"--set={each}" for each in more)]


def rendered(*words: str) -> list[dict[str, Any]]:
    done = helm("template", "stackwright", str(CHART), "--set=images.tags.stackwright=x,crds.install=false", *words)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.load_all(done.stdout, yaml.CSafeLoader) if obj]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (options("cert-manager"), "webhook.certificate.issuer.name is needed"),
        (options("operator", f"webhook.ca_bundle={PEM}"), "webhook.ca_bundle is for"),
        (options("secret", "webhook.ca_bundle=x"), "/webhook/ca_bundle"),
        (options("secret", "webhook.certificate.secret=a/b"), "/webhook/certificate/secret"),
        (options("vault"), "/webhook/certificate/source"),
    ],
)
def test_values_that_cannot_work_are_refused(words: list[str], error: str) -> None:
    done = helm("template", "stackwright", str(CHART), "--set=images.tags.stackwright=x", *words)
    assert done.returncode != 0
    assert error in done.stderr


@pytest.mark.parametrize(
    ("words", "writes"),
    [
        (options("operator"), True),
        (options("secret"), True),
        (options("secret", f"webhook.ca_bundle={PEM}"), False),
        (options("cert-manager", "webhook.certificate.issuer.name=a"), False),
    ],
)
def test_the_operator_may_write_the_bundle_if_nobody_else_does(words: list[str], writes: bool) -> None:
    found = rendered(*words)
    [role] = [obj for obj in found if obj["kind"] == "ClusterRole" and obj["metadata"]["name"] == "stackwright"]
    [pod] = [obj["spec"]["template"]["spec"] for obj in found if obj["kind"] == "Deployment"]
    assert any("validatingwebhookconfigurations" in rule["resources"] for rule in role["rules"]) is writes
    assert ("--no-webhook-trust" in pod["containers"][0]["args"]) is not writes
