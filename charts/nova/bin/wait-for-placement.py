"""Waits until Nova's user can log in to Keystone and finds Placement in the catalog, answering.

A scheduler or compute process that finds less ends with an error, and Kubernetes lets it wait longer each time. Nothing
of OpenStack is loaded for it.
"""

import configparser
import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CONFIGURATION = (Path("/etc/nova/nova.conf"), *sorted(Path("/etc/nova/nova.conf.d").glob("*.conf")))
TIMEOUT = 10
PAUSE = 1
PAUSE_AFTER_REFUSAL = 5  # Keystone may count wrong passwords


def log_in(account: configparser.SectionProxy) -> dict[str, Any]:
    """The token's content, with the catalog."""
    user = {
        "name": account["username"],
        "password": account["password"],
        "domain": {"name": account.get("user_domain_name", "Default")},
    }
    project = {"name": account["project_name"], "domain": {"name": account.get("project_domain_name", "Default")}}
    auth = {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": {"project": project}}
    base = account["auth_url"].rstrip("/").removesuffix("/v3")
    request = urllib.request.Request(  # noqa: S310 - the URL is Keystone's, as configured
        f"{base}/v3/auth/tokens", json.dumps({"auth": auth}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
        token: dict[str, Any] = json.load(answer)["token"]
    return token


def lack(account: configparser.SectionProxy) -> str:
    """What is not there yet; empty when all is."""
    try:
        token = log_in(account)
        urls = [
            endpoint["url"]
            for service in token.get("catalog", [])
            for endpoint in service["endpoints"]
            if service["type"] == "placement" and endpoint["interface"] == account.get("valid_interfaces", "internal")
        ]
        if not urls:
            return "Placement is not in the catalog"
        with urllib.request.urlopen(urls[0], timeout=TIMEOUT):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:
        return f"{error.url}: {error}"
    except (OSError, ValueError, KeyError) as error:
        return f"{account['auth_url']}: {error}"


def main() -> None:
    conf = configparser.RawConfigParser(strict=False)
    conf.read(CONFIGURATION)
    said = ""
    while missing := lack(conf["placement"]):
        if missing != said:
            print(f"Waiting for Placement: {missing}", flush=True)
            said = missing
        time.sleep(PAUSE_AFTER_REFUSAL if "Error 401" in missing else PAUSE)


main()
