"""What all scenarios share: simulated time that moves at once."""

from __future__ import annotations

import pytest

# How often the loop turns with nothing to do before time moves. Looptime's own 42 allow for threads and sockets, of
# which a world in memory has none.
TURNS = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("looptime"):
            item.add_marker(pytest.mark.looptime(noop_cycles=TURNS))
