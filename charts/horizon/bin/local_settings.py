"""Horizon's settings: the values in settings.json, which contains no code, and the key from its Secret.

A setting that is a mapping is merged into Horizon's default, so that a single key can be changed.
"""

import json
import sys
from pathlib import Path

from openstack_dashboard import settings as _defaults

sys.path.append("/opt/stackwright")

import stacks as _stacks  # noqa: E402
from session_cache import Serde as _Serde  # noqa: E402

_stacks.install()

_ETC = Path("/etc/openstack-dashboard")

for _name, _value in json.loads((_ETC / "settings.json").read_text()).items():
    _default = getattr(_defaults, _name, None)
    if isinstance(_value, dict) and isinstance(_default, dict):
        _value = {**_default, **_value}
    globals()[_name] = _value

SECRET_KEY = (_ETC / "secret-key/secret_key").read_text()
for _cache in globals().get("CACHES", {}).values():
    if _cache.get("BACKEND", "").endswith(".PyMemcacheCache"):
        _cache["OPTIONS"] = {**_cache.get("OPTIONS", {}), "serde": _Serde(SECRET_KEY)}
