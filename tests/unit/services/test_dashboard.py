"""Horizon's values, and the script of its chart that turns them into settings: only data, with any content."""

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context, Values
from stackwright.services.horizon import SERVICE
from stackwright.services.horizon.features import HorizonSettings
from support.paths import ROOT

SCRIPT = ROOT / "charts/horizon/bin/local_settings.py"


def settings(**asked: object) -> Values:
    spec = ServiceSpec(public_domain="cloud.example")
    context = Context("horizon", "openstack", spec, {}, HorizonSettings.model_validate(asked))
    return SERVICE.charts[0].values(context)["conf"]["horizon"]


def test_without_ingress_no_header_of_a_client_is_trusted() -> None:
    built = settings()
    assert "SECURE_PROXY_SSL_HEADER" not in built
    assert built["ALLOWED_HOSTS"] == [
        "localhost", "horizon", "horizon.openstack", "horizon.openstack.svc", "horizon.openstack.svc.cluster.local",
    ]  # fmt: skip


def test_behind_an_ingress_cookies_are_for_tls_only() -> None:
    built = settings(ingress=True)
    assert built["ALLOWED_HOSTS"][-1] == "horizon.cloud.example"
    assert built["CSRF_TRUSTED_ORIGINS"] == ["https://horizon.cloud.example"]
    assert built["SESSION_COOKIE_SECURE"] is built["CSRF_COOKIE_SECURE"] is True


def test_the_theme_exists_in_the_image() -> None:
    assert settings(default_theme="material")["DEFAULT_THEME"] == "material"
    with pytest.raises(ValueError, match="default_theme"):
        settings(default_theme="neon")


def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, object]) -> dict[str, object]:
    """Run the chart's script as Horizon does, with its files in another folder."""
    (tmp_path / "secret-key").mkdir()
    (tmp_path / "secret-key/secret_key").write_text("k3y")
    (tmp_path / "settings.json").write_text(json.dumps(values))
    script = tmp_path / "local_settings.py"
    script.write_text(SCRIPT.read_text().replace("/etc/openstack-dashboard", str(tmp_path)))
    horizon = ModuleType("openstack_dashboard")
    horizon.settings = ModuleType("openstack_dashboard.settings")  # type: ignore[attr-defined]
    horizon.settings.HORIZON_CONFIG = {"help_url": "there", "modal_backdrop": "static"}
    monkeypatch.setitem(sys.modules, "openstack_dashboard", horizon)
    monkeypatch.setitem(sys.modules, "openstack_dashboard.settings", horizon.settings)
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return runpy.run_path(str(script))


def test_no_value_becomes_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = '"""); import os; os.abort() #\n\'{{ evil }}'
    assert load(tmp_path, monkeypatch, {"SITE_BRANDING": evil})["SITE_BRANDING"] == evil


def test_a_mapping_is_laid_over_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(tmp_path, monkeypatch, {"HORIZON_CONFIG": {"help_url": "here"}, "CACHES": {"default": {}}})
    assert loaded["HORIZON_CONFIG"] == {"help_url": "here", "modal_backdrop": "static"}
    assert loaded["CACHES"] == {"default": {}}
    assert loaded["SECRET_KEY"] == "k3y"
