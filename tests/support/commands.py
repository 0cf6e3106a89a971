"""Commands of `stackwright` on a cluster in memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from stackwright.cli import cluster as cli_cluster


def connect(monkeypatch: pytest.MonkeyPatch, cluster: Any) -> None:
    """All commands use this cluster."""
    monkeypatch.setattr(cli_cluster, "connected", lambda given: nullcontext(cluster))
