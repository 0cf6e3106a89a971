"""What all tests share: silence, hypothesis' profile, and golden files."""

from __future__ import annotations

import difflib
import gc
import os
import signal
from collections.abc import Callable, Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from support.paths import GOLDEN

# The same examples in each run: a red test must be red again on the next machine. `make sweep` looks
# for new ones, with the profile `search`: ten times as many, others each time.
# A slow machine is no failure of a test.
SLOW = [HealthCheck.too_slow]
settings.register_profile(
    "suite", max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW
)
settings.register_profile("search", max_examples=400, deadline=None, suppress_health_check=SLOW)
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def _quiet() -> None:
    """Log lines are made, so a wrong one fails, and go nowhere."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, which their children inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with tests/golden/<name>; UPDATE_GOLDEN=1 writes the file anew, and a missing one fails."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.is_file(), f"there is no tests/golden/{name}; write it with UPDATE_GOLDEN=1, then read it"
        before = path.read_text()
        if text != before:
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "golden", "now", lineterm="", n=3)
            pytest.fail(f"tests/golden/{name} differs (UPDATE_GOLDEN=1 accepts it):\n" + "\n".join(lines))

    return compare
