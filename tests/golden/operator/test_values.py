"""Values that cannot work are refused by name, with what is wrong."""

from __future__ import annotations

import pytest

from stackwright.core.controller import ROLES
from support.paths import ROOT
from tests.golden.operator.test_certificate import rendered
from tests.golden.test_charts import helm

PROVISIONER = ("local-volume-provisioner", "provisioner")
OPERATOR = ("stackwright", "operator")


@pytest.mark.parametrize(("chart", "component"), [OPERATOR, PROVISIONER])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("pod.security_context.{}.pod.runAsUsr=1", "'runAsUsr' not allowed"),
        ("pod.security_context.{}.container.readOnlyRootFileSystem=true", "'readOnlyRootFileSystem' not allowed"),
        ("pod.security_context.{}.pod.privileged=true", "'privileged' not allowed"),
        ("pod.resources.{}.limits.memroy=1Gi", "'memroy' does not match"),
        ("pod.resources.{}.requests.CPU=1", "'CPU' does not match"),
    ],
)
def test_typos_in_fields_of_kubernetes_are_refused(chart: str, component: str, value: str, error: str) -> None:
    path, option = str(ROOT / "charts" / chart), f"--set={value.format(component)}"
    done = helm("template", chart, path, "--set=images.tags.stackwright=x", option)
    assert done.returncode != 0 and error in done.stderr


@pytest.mark.parametrize(
    "value",
    [
        "pod.security_context.operator.pod.fsGroupChangePolicy=Always",
        "pod.security_context.operator.pod.seLinuxOptions.type=spc_t",
        "pod.security_context.operator.container.runAsUser=1",
        "pod.resources.operator.limits.ephemeral-storage=1Gi",
        r"pod.resources.operator.limits.example\.org/device=1",
        "pod.resources.operator.limits.hugepages-2Mi=2Mi",
    ],
)
def test_fields_of_kubernetes_are_accepted(value: str) -> None:
    assert rendered(f"--set={value}")


def test_only_known_controllers_may_be_named() -> None:
    assert rendered(f"--set=controllers.names={{{','.join(ROLES)}}}")
    path = str(ROOT / "charts/stackwright")
    done = helm("template", "stackwright", path, "--set=images.tags.stackwright=x", "--set=controllers.names={bogus}")
    assert done.returncode != 0 and "/controllers/names" in done.stderr


def test_a_webhook_needs_the_controllers_that_answer_it() -> None:
    path, names = str(ROOT / "charts/stackwright"), "--set=controllers.names={health,node}"
    done = helm("template", "stackwright", path, "--set=images.tags.stackwright=x", names)
    assert done.returncode != 0 and "controllers.names needs osdpl" in done.stderr
    kinds = {each["kind"] for each in rendered(names, "--set=webhook.create=false")}
    assert "Deployment" in kinds and "ValidatingWebhookConfiguration" not in kinds
