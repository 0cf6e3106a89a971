"""What pages tell a reader to call or to open exists: commands of `stackwright`, their options, anchors of links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stackwright.cli.app import COMMANDS, LazyCommand, app
from support.paths import ROOT
from tests.unit.docs.test_docs import PAGES

HAND = [page for page in PAGES if page.name != "cli.md" and page.name != "CHANGELOG.md"]
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"(?:^|[\s(;|&])(?:\S*/)?stackwright ([^;|&>()]*)")
LINK = re.compile(r"\]\(([^()\s]*)#([^()\s]+)\)")
WRONG = typer.BadParameter.__bases__  # errors of usage; Typer has its own copy of click
each_page = pytest.mark.parametrize("page", HAND, ids=lambda page: str(page.relative_to(ROOT)))


def calls(text: str) -> Iterator[str]:
    """The arguments of each call of `stackwright` in blocks of commands, without comments."""
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = re.sub(r"(?:^|\s)#.*", "", line)
            if re.match(r"(?:sudo )?(?:source <\()?(?:\.venv/bin/)?stackwright ", words.strip()):
                yield from CALL.findall(words)


def fault(arguments: str) -> str:
    """Why the command line does not accept them; empty if it does. Nothing is run, and no file need exist."""
    words = shlex.split(arguments)
    group: Any = typer.main.get_command(app)
    if not words or words[0].startswith("-"):
        return "" if set(words) <= {"--version", "--help", "-h", "--install-completion"} else "an unknown option"
    if words[0] not in COMMANDS:
        return f"no command {words[0]}"
    command: Any = LazyCommand(name=words[0], help="", rich_markup_mode=None).load()
    rest = words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    context = command.context_class(
        command, info_name=words[0], **{**group.context_settings, **command.context_settings}
    )
    try:
        values, extra, _ = command.make_parser(context).parse_args(list(rest))
        for param in command.params:
            if param.required and not values.get(param.name):
                return f"{param.name} is missing"
    except WRONG as error:
        return str(error)
    return f"too many arguments: {extra}" if extra else ""


@each_page
def test_the_command_line_accepts_all_commands_of_a_page(page: Path) -> None:
    assert {call: why for call in calls(page.read_text()) if (why := fault(call))} == {}


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ("apply -f cloud.yaml --wait --timeout 1800", True),
        ("images push registry.example.org/stackwright", True),
        ("images pull registry.example.org/stackwright", False),
        ("apply -f cloud.yaml --until-ready", False),
        ("apply --wait", False),
        ("delete cloud second", False),
        ("start", False),
        ("--verion", False),
    ],
)
def test_a_wrong_command_is_noticed(arguments: str, right: bool) -> None:
    assert (fault(arguments) == "") is right


def test_calls_are_found() -> None:
    lines = ["sudo stackwright a -b \\", "  c   # note", "source <(stackwright openrc)", "stackwright x; stackwright y"]
    text = "\n".join(["```", *lines, "ls stackwright z", "```", ""])
    assert [call.split() for call in calls(text)] == [["a", "-b", "c"], ["openrc"], ["x"], ["y"]]


def anchors(page: Path) -> set[str]:
    """Those that GitHub makes of headings."""
    text = FENCE.sub("", page.read_text())
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_of_links_exist(page: Path) -> None:
    broken = []
    for target, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))):
        if "://" not in target:
            there = (page.parent / target).resolve() if target else page
            if there.suffix == ".md" and anchor not in anchors(there):
                broken.append(f"{target}#{anchor}")
    assert broken == []
