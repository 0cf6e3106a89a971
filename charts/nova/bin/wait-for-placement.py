"""Waits until Nova's user can log in to Keystone and Placement responds: wait-for-placement.py [IDENTITY]

A scheduler or compute process that finds less ends with an error, and Kubernetes restarts it with a growing delay. No
module of OpenStack is loaded.

IDENTITY is the file with the UUID of this compute node. nova-compute refuses to start without it if Nova knows the
node, which is so after the node was installed again. Then the UUID is read from Placement: the node's resource provider
has the same one.
"""

import configparser
import http.client
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import Any

CONFIGURATION = (Path("/etc/nova/nova.conf"), *sorted(Path("/etc/nova/nova.conf.d").glob("*.conf")))
TIMEOUT = 10
PAUSE = 1
PAUSE_AFTER_REFUSAL = 5  # Keystone may count wrong passwords


def log_in(account: configparser.SectionProxy) -> tuple[str, dict[str, Any]]:
    """A token and its content, with the catalog."""
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
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
        return response.headers["X-Subject-Token"], json.load(response)["token"]


def get(url: str, token: str = "") -> bytes:
    headers = {"OpenStack-API-Version": "placement 1.20"} | ({"X-Auth-Token": token} if token else {})
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the URL is Placement's, from the catalog
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
        content: bytes = response.read()
    return content


def attempt(account: configparser.SectionProxy, identity: Path | None) -> str:
    """What is missing; empty if nothing is."""
    try:
        token, content = log_in(account)
        wanted = {"interface": account.get("valid_interfaces", "internal"), "region": account.get("region_name", "")}
        urls = [
            endpoint["url"]
            for service in content.get("catalog", [])
            for endpoint in service["endpoints"]
            if service["type"] == "placement" and all(endpoint[key] == value for key, value in wanted.items() if value)
        ]
        if not urls:
            return "Placement is not in the catalog"
        get(urls[0])
        if identity and not (identity.exists() and identity.read_text().strip()):
            restore(identity, urls[0].rstrip("/"), token)
        return ""
    except urllib.error.HTTPError as error:
        return f"{error.url}: {error}"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{account['auth_url']}: {error}"  # no response, or a wrong one


def restore(identity: Path, placement: str, token: str) -> None:
    """Writes the UUID of the node's resource provider, if there is one. Its name is the host's name in libvirt.

    A host whose name differs from the node's by more than the domain gets none: another node may have that host name.
    """
    node = os.environ["NODE_NAME"]
    for name in dict.fromkeys((socket.gethostname(), socket.getfqdn(), node)):
        if name.partition(".")[0] != node.partition(".")[0]:
            continue
        found = json.loads(get(f"{placement}/resource_providers?{urllib.parse.urlencode({'name': name})}", token))
        for provider in found["resource_providers"]:
            text = str(uuid.UUID(provider["uuid"]))
            new = identity.with_name(f"{identity.name}.new")
            new.write_text(text)
            new.replace(identity)
            print(f"Nova knows this node: its identity {text} is that of resource provider {name}", flush=True)
            return


def main() -> None:
    conf = configparser.RawConfigParser(strict=False)
    conf.read(CONFIGURATION)
    identity = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    said = ""
    while missing := attempt(conf["placement"], identity):
        if missing != said:
            print(f"Waiting for Placement: {missing}", flush=True)
            said = missing
        time.sleep(PAUSE_AFTER_REFUSAL if "Error 401" in missing else PAUSE)


main()
