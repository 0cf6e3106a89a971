"""Horizon's values, and the script of its chart that turns them into settings: only data, with any content."""

import json
import re
import runpy
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context, Values
from stackwright.services.horizon import SERVICE
from stackwright.services.horizon.features import HorizonSettings
from stackwright.services.registry import SERVICES
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
    names = ("", ".template_format", ".environment_format")
    common, templates, environments = (ModuleType(f"heatclient.common{name}") for name in names)
    templates.yaml_loader = yaml.CSafeLoader  # type: ignore[attr-defined]
    for module in (templates, environments):
        module.parse = lambda text: yaml.load(text, Loader=yaml.CSafeLoader)  # type: ignore[attr-defined]
    common.template_format, common.environment_format = templates, environments  # type: ignore[attr-defined]
    for name, module in (("heatclient", ModuleType("heatclient")), ("heatclient.common", common)):
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("stacks", "texts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", urllib.request.urlopen)  # the script replaces it
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


def test_the_panel_of_stacks_fetches_no_address_and_expands_no_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tmp_path, monkeypatch, {})
    for url in ("http://memcached:11211/", "file:///etc/passwd"):
        with pytest.raises(ValueError, match="not fetched by URL"):
            urllib.request.urlopen(url, timeout=1)
    common = sys.modules["heatclient.common"]
    bomb = "a: &a " + "x" * 400_000 + "\nb: [" + ", ".join(["*a"] * 60) + "]"
    for parse in (common.template_format.parse, common.environment_format.parse):
        with pytest.raises(ValueError, match="have more than 16 MiB"):
            parse(bomb)
        with pytest.raises(ValueError, match="did not find"):
            parse("a: [")
        assert parse("a: &a {b: 1}\nc: *a") == {"a": {"b": 1}, "c": {"b": 1}}


def test_the_image_has_the_panels_of_every_service() -> None:
    """A user sees those of the services in the catalog, and the panels send requests to them."""
    recipe = (ROOT / "images/horizon/Containerfile").read_text()
    declared = {declared.panels: declared for declared in SERVICES if declared.panels}
    assert set(re.findall(r"python3-[\w-]+-(?:dashboard|ui)\b", recipe)) == declared.keys()
    for service in declared.values():
        listeners = [listener for chart in service.charts for listener in chart.listens]
        assert any("horizon" in listener.sources for listener in listeners), service.name
