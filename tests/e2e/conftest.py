"""The real cloud on the local cluster: started once, and stopped again unless it ran before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness import Cloud

from stackwright.local import state


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    ran_before = state.cluster_state().state == "ready"
    made = Cloud()
    print(made.stackwright("up", limit=3000))
    made.wait_ready()
    yield made
    if not ran_before:
        made.stackwright("down", limit=300)
