"""Generates the manual pages of the program: one of all commands, one per command, in roff with the macros of man(7).

`make docs` writes them to docs/man, and the wheel installs them. The text is the help of the commands. The pages are
pure ASCII, and the same on each machine: they have no date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from stackwright.cli.app import COMMANDS, PLUGIN, PROGRAM, WIDTH, LazyCommand, app

MAN = Path(__file__).parents[1] / "docs/man"
NOTE = '.\\" Written by `make docs`; do not edit.\n'
ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def pages() -> dict[str, str]:
    """File name → text. A page that refers to another one has the name by which kubectl finds the program."""
    group: Any = typer.main.get_command(app)
    names = group.list_commands(None)
    found = {PROGRAM: _page(group, PROGRAM, [f"{PROGRAM}-{name}" for name in sorted(names)])}
    for name in names:
        path = f"{PROGRAM}-{name}"
        command = LazyCommand(name=name, help=COMMANDS[name].help, rich_markup_mode=None).load()
        subcommands = getattr(command, "commands", {})
        found[path] = _page(command, f"{PROGRAM} {name}", [PROGRAM, *(f"{path}-{sub}" for sub in subcommands)])
        for sub, below in subcommands.items():
            found[f"{path}-{sub}"] = _page(below, f"{PROGRAM} {name} {sub}", [PROGRAM, path])
    found[PLUGIN.replace(" ", "-")] = f".so man1/{PROGRAM}.1\n"
    return {f"{name}.1": text for name, text in found.items()}


def write() -> list[Path]:
    """Write changed pages and remove those of removed commands; returns the changed paths."""
    wanted = pages()
    there = {path.name: path.read_text() for path in MAN.glob("*.1")}
    MAN.mkdir(exist_ok=True)
    for name in there.keys() - wanted.keys():
        (MAN / name).unlink()
    changed = {name: text for name, text in wanted.items() if there.get(name) != text}
    for name, text in changed.items():
        (MAN / name).write_text(text)
    return [MAN / name for name in sorted(changed.keys() | (there.keys() - wanted.keys()))]


def context(command: Any, path: str) -> Any:
    """The context of a command, with inherited settings; its help does not depend on the terminal."""
    inherited: Any = typer.main.get_command(app).context_settings
    settings = {**inherited, **command.context_settings, "terminal_width": WIDTH}
    return command.context_class(command, info_name=path, **settings)


def escaped(text: str) -> str:
    """Text that is printed unchanged and can be copied: `-` stays a minus sign."""
    text = "".join(ESCAPES.get(char, char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text)
    return re.sub(r"(?m)^\.", r"\\&.", text)


def _page(command: Any, path: str, related: list[str]) -> str:
    """path: the command and those above it; related: the pages of SEE ALSO."""
    here = context(command, path)
    sections = _sections(f"{command.help}\n\n{command.epilog or ''}")
    first, *more = sections.pop("DESCRIPTION")
    name = path.replace(" ", "-")
    usage = " ".join(command.collect_usage_pieces(here))
    text = f'{NOTE}.TH "{escaped(name.upper())}" "1" "" "Stackwright {escaped(version(PROGRAM))}" "Stackwright"\n'
    text += f".SH NAME\n{escaped(name)} \\- {escaped(_joined(first).rstrip('.'))}\n"
    text += f".SH SYNOPSIS\n{_bold(path)} {escaped(usage)}\n"
    text += f".SH DESCRIPTION\n{_paragraphs([first, *more])}"
    for title, wanted in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        text += _section(title, _parameters(command, here, wanted))
    text += _section("COMMANDS", _commands(command))
    for title, paragraphs in sections.items():
        text += f".SH {title}\n{_paragraphs(paragraphs)}"
    return text + ".SH SEE ALSO\n" + ",\n".join(f"{_bold(each)}(1)" for each in related) + "\n"


def _sections(help_: str) -> dict[str, list[str]]:
    """Title → paragraphs, from the paragraphs of a help that begin a section."""
    found: dict[str, list[str]] = {"DESCRIPTION": []}
    title = "DESCRIPTION"
    for paragraph in re.split(r"\n\s*\n", help_.strip("\n")):
        if not paragraph.strip():
            continue
        if re.fullmatch(r"(For example|Examples):", paragraph.strip()):
            title = "EXAMPLES"
            continue
        if re.match(r"Exit codes? ", paragraph):
            title = "EXIT STATUS"
        elif title != "DESCRIPTION" and not paragraph.startswith(" "):
            title = "NOTES"
        found.setdefault(title, []).append(paragraph)
    return found


def _paragraphs(paragraphs: list[str]) -> str:
    """Paragraphs in roff; an indented one has lines to type."""
    text = ""
    for number, each in enumerate(paragraphs):
        lines = each.startswith("  ")
        text += ".PP\n" if number else ""
        text += f".RS 4\n.nf\n{escaped(_dedented(each))}\n.fi\n.RE\n" if lines else f"{escaped(_joined(each))}\n"
    return text


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _dedented(paragraph: str) -> str:
    return "\n".join(line.strip() for line in paragraph.splitlines())


def _parameters(command: Any, here: Any, wanted: str) -> Iterator[tuple[str, str]]:
    for param in command.get_params(here):
        if param.param_type_name == wanted and (record := param.get_help_record(here)):
            names, text = record
            yield names, text


def _commands(command: Any) -> Iterator[tuple[str, str]]:
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield name, command.get_command(None, name).get_short_help_str(limit=1000)


def _section(title: str, rows: Iterator[tuple[str, str]]) -> str:
    text = "".join(f".TP\n{_bold(name)}\n{escaped(_joined(meaning))}\n" for name, meaning in rows)
    return f".SH {title}\n{text}" if text else ""


def _bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"
