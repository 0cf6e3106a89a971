"""Structured logs: one JSON object per line, without secrets.

Actions are logged by their target, never with their content. As a second line of defence, this module masks fields
whose names suggest secrets, and credentials inside texts.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

import structlog

from stackwright.api.secrecy import HIDDEN, hidden, leads_to_secrets


def blank(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that masks secrets."""
    for name, value in event.items():
        if leads_to_secrets(name):
            event[name] = HIDDEN
        elif isinstance(value, str):
            event[name] = hidden(value)
    return event


def configure(level: str = "INFO") -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            blank,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
    )
    logging.basicConfig(level=level, format='{"level": "%(levelname)s", "logger": "%(name)s", "event": %(message)r}')
    for noisy in ("httpx2", "httpcore2", "aiohttp.access", "openstack", "keystoneauth"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
