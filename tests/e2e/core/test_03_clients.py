"""Clients on this machine: the `openstack` command with the exported clouds.yaml, and a browser."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from browser import browser, require, trust
from full import FullCloud
from harness import openstack
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait
from vms import NAME, Vms

from stackwright.smoke.host import RealHost

SERVICES = {"compute", "identity", "image", "network", "placement"}
PAGE_LIMIT = 60


def told(vms: Vms, *words: str) -> list[dict[str, Any]]:
    done = openstack(vms.clouds, *words, "-f", "json")
    assert done.code == 0, done.out
    return list(json.loads(done.out[done.out.index("[") : done.out.rindex("]") + 1]))


def test_openstack_from_the_host_with_the_exported_clouds_yaml(vms: Vms) -> None:
    assert "demo" in {server["Name"] for server in told(vms, "server", "list")}
    assert "stackwright-guest" in {image["Name"] for image in told(vms, "image", "list")}
    assert "demo" in {network["Name"] for network in told(vms, "network", "list")}
    assert {agent["Alive"] for agent in told(vms, "network", "agent", "list")} == {True}
    assert {service["State"] for service in told(vms, "compute", "service", "list")} == {"up"}


def test_every_public_endpoint_is_over_tls_with_the_ca_verified(full_cloud: FullCloud, vms: Vms) -> None:
    endpoints = told(vms, "endpoint", "list", "--interface", "public")
    assert {endpoint["Service Type"] for endpoint in endpoints} >= SERVICES
    domain = full_cloud.spec()["public_domain_name"]
    host = RealHost(vms.ca)
    for url in {endpoint["URL"] for endpoint in endpoints} | {f"https://horizon.{domain}"}:
        parts = urlsplit(url)
        assert parts.scheme == "https"
        assert str(parts.hostname).endswith(f".{domain}")
        assert host.page(f"{url.partition('%(')[0].rstrip('/')}/") < 500, url
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(str(parts.hostname))


def handshake(name: str) -> None:
    """A TLS handshake of a client that trusts only the CAs of this machine."""
    with (
        socket.create_connection((name, 443), timeout=10) as plain,
        ssl.create_default_context().wrap_socket(plain, server_hostname=name),
    ):
        pass


def test_openstack_rejects_a_cloud_with_an_unknown_ca(vms: Vms, tmp_path: Path) -> None:
    entry = yaml.safe_load(vms.clouds.read_text())
    assert entry["clouds"][NAME].pop("cacert")
    path = tmp_path / "clouds.yaml"
    path.write_text(yaml.safe_dump(entry))
    done = openstack(path, "token", "issue")
    assert done.code != 0
    assert "certificate verify failed" in done.out.lower()


def test_horizon_login_in_a_real_headless_browser(full_cloud: FullCloud, vms: Vms, tmp_path: Path) -> None:
    require()
    trust(tmp_path, vms.ca)
    url = f"https://horizon.{full_cloud.spec()['public_domain_name']}"
    with browser(tmp_path) as page:
        wait = WebDriverWait(page, PAGE_LIMIT)
        page.get(f"{url}/auth/login/")
        for field, value in (("username", "admin"), ("password", full_cloud.secret("keystone-admin"))):
            wait.until(expected_conditions.element_to_be_clickable((By.ID, f"id_{field}"))).send_keys(value)
        for domain in page.find_elements(By.CSS_SELECTOR, "input#id_domain:not([type=hidden])"):
            domain.clear()
            domain.send_keys("Default")
        page.find_element(By.CSS_SELECTOR, "#loginBtn").click()
        wait.until(lambda driver: "/auth/login" not in driver.current_url)
        page.get(f"{url}/project/instances/")
        row = (By.XPATH, "//table[@id='instances']//tr[.//a[normalize-space()='demo']]")
        shown = wait.until(expected_conditions.presence_of_element_located(row)).text
    assert "Active" in shown
    assert vms.demo.fixed in shown


def test_a_browser_without_the_ca_shows_no_dashboard(full_cloud: FullCloud, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.get(f"https://horizon.{full_cloud.spec()['public_domain_name']}/")
        assert not page.find_elements(By.ID, "id_username")
        assert page.title == "Privacy error"
