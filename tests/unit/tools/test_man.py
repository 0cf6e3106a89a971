"""The manual pages: one per command, in roff that says what the help says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import man
import pytest
import typer

from stackwright.cli.app import COMMANDS, LazyCommand

MACROS = {"TH", "SH", "PP", "TP", "RS", "RE", "nf", "fi", "so", '\\"'}
SPELLED = {"\\fB", "\\fR", "\\-", "\\e", "\\&", "\\(aq", "\\(ga", "\\(ha", "\\(ti"}
PAGES = man.pages()


def shown(page: str) -> list[str]:
    """Lines of a page as a reader sees them, by section and paragraph."""
    text = page
    for written, char in (("\\(aq", "'"), ("\\(ga", "`"), ("\\-", "-"), ("\\fB", ""), ("\\fR", ""), ("\\&", "")):
        text = text.replace(written, char)
    text = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda found: chr(int(found[1], 16)), text)
    return text.replace("\\e", "\\").splitlines()


def test_the_pages_in_the_repository_are_up_to_date() -> None:
    there = {path.name: path.read_text() for path in man.MAN.iterdir()}
    assert there.keys() == PAGES.keys(), "call `make docs`"
    assert [name for name, text in PAGES.items() if there[name] != text] == [], "call `make docs`"


def test_only_changed_pages_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(man, "MAN", tmp_path / "man")
    assert [path.name for path in man.write()] == sorted(PAGES)
    assert man.write() == []
    (tmp_path / "man/stackwright-gone.1").touch()
    (tmp_path / "man/stackwright.1").write_text("old")
    assert [path.name for path in man.write()] == ["stackwright-gone.1", "stackwright.1"]
    assert {path.name: path.read_text() for path in (tmp_path / "man").iterdir()} == PAGES


def test_each_command_has_a_page() -> None:
    groups = {name: getattr(LazyCommand(name=name).load(), "commands", {}) for name in COMMANDS}
    wanted = {f"stackwright-{name}.1" for name in COMMANDS}
    wanted |= {f"stackwright-{name}-{sub}.1" for name, subs in groups.items() for sub in subs}
    assert wanted | {"stackwright.1", "kubectl-stackwright.1"} == PAGES.keys()
    assert "stackwright-images-push.1" in PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_has_only_known_macros_and_escapes(name: str) -> None:
    page = PAGES[name]
    assert page.isascii()
    assert {line.split()[0].removeprefix(".") for line in page.splitlines() if line[:1] in (".", "'")} <= MACROS
    body = re.sub(r'(?m)^\.\\".*', "", page)
    assert set(re.findall(r"\\(?:f.|\(..|\[[^]]*\]|.)", re.sub(r"\\\[u[0-9A-F]{4,5}\]", "", body))) <= SPELLED
    assert "" not in page.splitlines(), "a blank line has no meaning of its own in a manual page"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "man1").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "man1" / name).write_text(text)
    command = ["groff", "-man", "-ww", "-Tutf8", *(f"man1/{name}" for name in sorted(PAGES))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "stackwright images push" in done.stdout


def test_a_page_says_what_the_help_says() -> None:
    lines = shown(PAGES["stackwright-plan.1"])
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
        assert f".SH {section}" in lines
    assert "stackwright-plan - Show what a manifest would change, without changing anything" in lines
    assert "Exit code 0: no changes; 2: changes; 1: failure or wrong usage." in lines
    assert lines[lines.index("stackwright plan --delete cloud") - 1] == ".nf"
    assert lines[lines.index("-h, --help") + 1] == "Show this message and exit."
    assert "stackwright(1)" in lines
    top = shown(PAGES["stackwright.1"])
    assert [top[top.index(name) + 1] for name in COMMANDS] == list(COMMANDS.values())


def test_text_is_printed_as_it_is() -> None:
    assert man.escaped("a\\b") == "a\\eb"
    assert man.escaped(".x\n'y\n…-") == "\\&.x\n\\(aqy\n\\[u2026]\\-"


def test_paragraphs_and_lines_to_type_are_kept_apart() -> None:
    def run(file: str = typer.Argument(help="Of .dots and \\n.")) -> None:
        """Do it.

        .First it asks.
        Then it acts.

        For example:

          stackwright run -f x

        Afterwards it ends.
        """

    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command("run")(run)
    page = man._page(typer.main.get_command(single), "stackwright run", ["stackwright"])
    lines = page.splitlines()
    assert "\\&.First it asks. Then it acts." in lines
    example = lines.index(".SH EXAMPLES")
    assert lines[example + 1 : example + 6] == [".RS 4", ".nf", "stackwright run \\-f x", ".fi", ".RE"]
    assert lines[example + 6 : example + 8] == [".SH NOTES", "Afterwards it ends."]
    assert "Of .dots and \\en.  [required]".replace("  ", " ") in lines


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert man.pages() == PAGES
