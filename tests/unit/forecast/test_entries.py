"""Entries of a plan for single actions."""

from __future__ import annotations

import pytest

from stackwright.cli.ui.steps import lines
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.plan import SetStatus
from stackwright.core.secrets.writes import EnsureSecret, SecretOwner
from stackwright.forecast.background import Background
from stackwright.forecast.entries import entries, summary
from stackwright.forecast.simulate import Step

KEY = ("demo", "s")


@pytest.mark.parametrize(
    ("generated", "keypairs", "there", "expected"),
    [
        (("password",), (), False, "  + Secret demo/s  (for Nova demo/nova; password generated)"),
        ((), ("ssh",), False, "  + Secret demo/s  (for Nova demo/nova; key pair ssh generated)"),
        ((), (), False, "  + Secret demo/s  (for Nova demo/nova)"),
        ((), ("ssh",), True, "  ~ Secret demo/s  (for Nova demo/nova; generated values are kept)"),
        ((), (), True, "  ~ Secret demo/s  (for Nova demo/nova)"),
    ],
)
def test_a_secret_names_what_is_generated(
    generated: tuple[str, ...], keypairs: tuple[str, ...], there: bool, expected: str
) -> None:
    action = EnsureSecret(KEY, SecretOwner({}), generated, keypairs=keypairs)
    background = Background(secrets={KEY} if there else set())
    assert lines(entries([Step(1, "Nova demo/nova", action)], background)) == [expected]


def test_a_status_is_a_change_and_not_a_call() -> None:
    action = SetStatus(CLAIM, {"metadata": {"namespace": "demo", "name": "web"}}, {})
    found = entries([Step(1, "OpenStackFloatingIPPool demo/p", action)], Background())
    assert lines(found) == ["  ~ status of IPAddressClaim demo/web  (for OpenStackFloatingIPPool demo/p)"]
    assert summary(found) == "Plan: 1 to change."
