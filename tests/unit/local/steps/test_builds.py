"""Tools and images are built at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster
from stackwright.local.steps import builds, images, tools
from stackwright.local.steps.context import Context

Run = Callable[[Context, Report], Any]
Builds = Callable[..., None]


@pytest.fixture
def ctx() -> Context:
    return Context(LocalCluster.discover())


@pytest.fixture
def set_builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    """Replaces what builds the tools and what builds the images; `done`: whether the tools exist."""

    def replace(make_tools: Run, make_images: Run, *, done: bool = False) -> None:
        monkeypatch.setattr(tools, "done", lambda ctx: done)
        monkeypatch.setattr(tools, "run", make_tools)
        monkeypatch.setattr(images, "run", make_images)

    return replace


def test_both_run_at_the_same_time_and_are_reported_together(ctx: Context, set_builds: Builds) -> None:
    both, said, told = threading.Barrier(2, timeout=10), list[str](), threading.Event()

    def make_tools(_: Context, report: Report) -> None:
        report("building etcd")
        both.wait()
        assert told.wait(10)

    def make_images(_: Context, report: Report) -> None:
        both.wait()
        report("building nova")
        told.set()

    set_builds(make_tools, make_images)
    builds.run(ctx, said.append)
    assert said[:2] == ["building etcd", "building nova; building etcd"]


def test_it_ends_when_both_have_ended(ctx: Context, set_builds: Builds) -> None:
    images_end, made, said = threading.Event(), list[str](), list[str]()

    def make_tools(_: Context, report: Report) -> None:
        report("building etcd")
        assert threading.current_thread().daemon, "the process ends although it still builds"
        assert images_end.wait(10)
        time.sleep(0.1)
        made.append("tools")

    def make_images(_: Context, report: Report) -> None:
        report("building nova")
        images_end.set()

    set_builds(make_tools, make_images)
    builds.run(ctx, said.append)
    assert made == ["tools"]
    assert said[-1] == "building etcd", "images have ended"


def test_tools_that_exist_are_not_built(ctx: Context, set_builds: Builds) -> None:
    set_builds(lambda ctx, report: pytest.fail("built"), lambda ctx, report: report("building nova"), done=True)
    said: list[str] = []
    builds.run(ctx, said.append)
    assert said == ["building nova"]


def test_an_error_of_tools_is_raised_after_the_images(ctx: Context, set_builds: Builds) -> None:
    made: list[str] = []

    def fail(_: Context, report: Report) -> None:
        raise LocalError("no compiler")

    set_builds(fail, lambda ctx, report: made.append("images"))
    with pytest.raises(LocalError, match="no compiler"):
        builds.run(ctx, lambda text: None)
    assert made == ["images"]


def test_an_error_of_images_does_not_wait_for_tools(ctx: Context, set_builds: Builds) -> None:
    """Ctrl-C, too: the process ends, and with it the program that builds a tool."""
    end = threading.Event()

    def fail(_: Context, report: Report) -> None:
        raise KeyboardInterrupt

    set_builds(lambda ctx, report: end.wait(10), fail)
    with pytest.raises(KeyboardInterrupt):
        builds.run(ctx, lambda text: None)
    assert not end.is_set()
    end.set()
