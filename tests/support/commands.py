"""Commands of `stackwright` on a cluster in memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from stackwright.cli.cluster import connection as cli_connection


def connect(monkeypatch: pytest.MonkeyPatch, cluster: Any) -> None:
    """All commands use this cluster."""
    monkeypatch.setattr(cli_connection, "connected", lambda given: nullcontext(cluster))
