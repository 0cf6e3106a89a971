"""Shared by all scenarios: simulated time that advances at once."""

from __future__ import annotations

import pytest

# Idle turns of the loop before time advances. The default of looptime, 42, allows for threads and sockets, which a
# world in memory does not have.
TURNS = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("looptime"):
            item.add_marker(pytest.mark.looptime(noop_cycles=TURNS))
