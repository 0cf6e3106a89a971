"""Parser of the Secret that Ceph provides, and the content of the Secret of each client. Pure.

The Secret openstack-ceph-keys has the format of the existing systems: `mon_endpoints` is a list of ip:port, and each
client is either "client.<user>;<key>;<pool>:<role>:<device class>;…" or the same as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.errors import name_of
from stackwright.api.fields.lines import LINE
from stackwright.core.objects import MUST_BE_TEXT, is_text

MONITORS = "mon_endpoints"


class Missing(Exception):
    """Ceph has not provided this data yet."""


class CephKeysError(Exception):
    """An option of a client refers to a value that the client does not have."""


@dataclass(frozen=True)
class ProvidedClient:
    """A client as Ceph provides it; pools are (name, role)."""

    user: str
    key: str
    pools: tuple[tuple[str, str], ...]

    def pool(self, role: str) -> str:
        for name, of in self.pools:
            if of == role:
                return name
        raise Missing(f"{self.user} has no pool of role {role}")


def parse(text: str) -> ProvidedClient:
    """Parse the field of a client. Raises ValueError with the problem, never with the key."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        name, key, pools = str(parsed.get("client_name", "")), str(parsed.get("key", "")), parsed.get("pools") or []
    else:
        name, key, *pools = [part.strip() for part in text.split(";")] + ([""] if ";" not in text else [])
    if not name.startswith("client.") or not key.strip():
        raise ValueError("takes client.<user>;<key>;<pool>:<role>:<device class>;…")
    if not isinstance(pools, list):
        raise ValueError("pools: takes a list")
    return ProvidedClient(
        name.removeprefix("client."),
        key.strip(),
        tuple(_pool(each, number) for number, each in enumerate(pools, 1) if each),
    )


def _pool(given: object, number: int) -> tuple[str, str]:
    """A pool; `number` counts from 1. An error has no part of the text, which is a key if the fields are disordered."""
    name, _, rest = str(given).partition(":")
    role, _, _ = rest.partition(":")
    if not name or not role:
        raise ValueError(f"pool {number}: takes <pool>:<role>:<device class>")
    return name, role


def access(given: Mapping[str, str], spec: Mapping[str, Any], secret_uuid: str) -> dict[str, str]:
    """The Secret of a client: see CephClientSpec.secret_name. Raises Missing, CephKeysError or ValueError."""
    client, monitors = str(spec["client"]), given.get(MONITORS, "").strip()
    if not monitors:
        raise Missing(f"it lacks {MONITORS}")
    if client not in given:
        raise Missing(f"it lacks {client}")
    try:
        handed = parse(given[client])
    except ValueError as error:
        raise ValueError(f"field {client}: {error}") from None
    wanted = [(handed.pool(each["role"]), each["role"]) for each in spec["pools"]]
    words = {"user": handed.user, "secret_uuid": secret_uuid, **{f"pool:{role}": name for name, role in wanted}}
    monitors = ",".join(part.strip() for part in monitors.split(","))
    for field, texts in ((MONITORS, [monitors]), (client, [*words.values(), handed.key])):
        if not all(map(is_text, texts)):
            raise ValueError(f"field {field}: {MUST_BE_TEXT}")
        if not all(LINE.matches(text) for text in texts):
            raise ValueError(f"field {field}: {LINE.message}")
    snippet = "\n".join(_section(name, options, words) for name, options in sorted(spec["options"].items()))
    return {
        "ceph.conf": f"[global]\nmon_host = {monitors}\nkeyring = /etc/ceph/keyring\n",
        "keyring": f"[client.{handed.user}]\n\tkey = {handed.key}\n",
        "user": handed.user,
        "key": handed.key,
        "secret_uuid": secret_uuid,
        "pools.json": json.dumps([{"name": name, "role": role} for name, role in wanted]),
        "rbd.conf": snippet,
    }


def _section(name: str, options: Mapping[str, str], words: Mapping[str, str]) -> str:
    for option, word in options.items():
        if word not in words:
            raise CephKeysError(f"spec.options.{name_of(name)}.{name_of(option)}: takes {', '.join(words)}")
    lines = [f"{option} = {words[word]}" for option, word in sorted(options.items())]
    return "\n".join([f"[{name}]", *lines, ""])
