"""Horizon shows the panels of Heat to users whose catalog has it; it fetches no template by URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from full import FullCloud
from requests import Session
from vms import Vms

FIELD = re.compile(r'<input type="hidden" name="(csrfmiddlewaretoken|region)" value="([^"]*)"')


@pytest.fixture
def dashboard(heat_cloud: FullCloud, tmp_path: Path) -> Iterator[tuple[Session, str]]:
    """A session of the administrator, who logged in when the catalog had the service, and the address of Horizon."""
    url = f"https://horizon.{heat_cloud.spec()['public_domain_name']}"
    vms = Vms(heat_cloud, tmp_path)  # writes the CA
    with Session() as session:
        session.trust_env = False
        session.verify = str(vms.ca)
        session.headers["Referer"] = url
        hidden = dict(FIELD.findall(session.get(f"{url}/auth/login/", timeout=60).text))
        login = {**hidden, "username": "admin", "password": heat_cloud.secret("keystone-admin")}
        answer = session.post(f"{url}/auth/login/", data=login, timeout=60)
        assert answer.status_code == 200 and "/auth/login" not in answer.url
        yield session, url
    vms.sdk.close()


@pytest.mark.parametrize("panel", ["stacks", "resource_types", "template_versions", "template_generator"])
def test_horizon_has_the_panels_of_stacks(dashboard: tuple[Session, str], panel: str) -> None:
    session, url = dashboard
    page = session.get(f"{url}/project/{panel}/", timeout=120)
    assert page.status_code == 200
    assert page.url == f"{url}/project/{panel}/"
    assert 'href="/project/stacks/"' in page.text, "the menu"


def test_horizon_fetches_no_template_by_url(heat_cloud: FullCloud, dashboard: tuple[Session, str]) -> None:
    session, url = dashboard
    form = f"{url}/project/stacks/select_template"
    hidden = dict(FIELD.findall(session.get(form, timeout=60).text))
    inside = f"http://keystone-api.{heat_cloud.namespace}.svc:5000/v3"
    data = {**hidden, "template_source": "url", "template_url": inside, "environment_source": "raw"}
    assert "not fetched by URL" in session.post(form, data=data, timeout=60).text
