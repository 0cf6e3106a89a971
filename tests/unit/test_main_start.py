"""Objects that a start of the operator excludes from Python's garbage collection, and what ends the operator."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from stackwright import main
from stackwright.cli.programs.operator import operator
from stackwright.main import YOUNG, _serve
from stackwright.runtime.own_pod import end_process


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Loop:
    """A runtime that loads an object, and one whose work ends at once."""

    kinds = ()

    def __init__(self) -> None:
        self.searched: list[bool] = []
        self.imported: list[Any] = [[]]

    async def load(self) -> None:
        self.searched.append(_searched(self.imported))
        self.loaded: list[Any] = [{"metadata": [index]} for index in range(100)]

    async def on_listed(self, *_: Any) -> None: ...

    def listing(self, *_: Any) -> None: ...

    def on_event(self, *_: Any) -> None: ...

    async def run(self) -> None:
        self.searched.append(_searched(self.loaded))


class Source:
    async def run(self, *_: Any) -> None: ...


def _searched(what: Any) -> bool:
    """Whether the search for cycles looks at an object."""
    return any(each is what for each in gc.get_objects())


async def test_imported_and_loaded_objects_are_excluded_from_garbage_collection() -> None:
    loop = Loop()
    assert _searched(loop.imported)
    await _serve(loop, Source(), None)  # type: ignore[arg-type]
    assert loop.searched == [False, False]
    assert gc.get_threshold()[0] == YOUNG
    later: list[Any] = [[]]
    assert gc.isenabled() and _searched(later), "what comes later is"


@pytest.mark.parametrize(
    ("pod", "watches"), [("a", [("stackwright", "a"), "the process ends", "the rest ends"]), ("", ["the rest ends"])]
)
async def test_an_operator_in_a_pod_ends_with_it(pod: str, watches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends for this cause only, and however long the rest takes to end."""
    watched: list[Any] = []

    async def until_deleted(cluster: Any, key: Any) -> None:
        watched.append(key)

    async def serve(loop: Any, source: Any, port: Any, *beside: Any) -> None:
        for each in beside:
            await each
        watched.append("the rest ends")

    for name, stub in {"_connect": lambda _: None, "runtime": lambda *_: None, "KopfSource": lambda _: None}.items():
        monkeypatch.setattr(main, name, stub)
    monkeypatch.setattr(main.logs, "configure", lambda _: None)
    monkeypatch.setattr(main, "until_deleted", until_deleted)
    monkeypatch.setattr(main, "_serve", serve)
    await main.operate(main.Options(pod=pod), lambda: watched.append("the process ends"))
    assert watched == watches


def test_the_program_ends_its_process_with_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    async def operate(options: Any, evicted: Any) -> None:
        given.append(evicted)

    monkeypatch.setattr(main, "operate", operate)
    operator()
    assert given == [end_process]
