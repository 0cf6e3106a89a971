"""Killed daemons of storage recover without data loss: monitor, OSD, Cinder."""

from __future__ import annotations

from typing import Any

import pytest
from faults.storage_faults import DAEMONS, Daemon
from faults.storage_kills import kill_and_ask
from storage import Storage
from traffic.writer import Writer

pytestmark = pytest.mark.usefixtures("undisturbed")
KILLED = [each for each in DAEMONS if each.often]


@pytest.mark.parametrize("daemon", KILLED, ids=lambda each: each.program)
def test_a_killed_daemon_restarts_without_data_loss(storage: Storage, raw: Any, writer: Writer, daemon: Daemon) -> None:
    kill_and_ask(storage, raw, daemon)
