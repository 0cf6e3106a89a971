"""A malicious pickle."""

from __future__ import annotations

from collections.abc import Callable

RAN: list[str] = []


def run() -> str:
    RAN.append("here")
    return "evil"


class Evil:
    """Runs code when it is unpickled, which RAN records."""

    def __reduce__(self) -> tuple[Callable[[], str], tuple[()]]:
        return run, ()
