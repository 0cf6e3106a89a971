"""The manual pages: one per command, in roff that says what the help says."""

from __future__ import annotations

import re
from pathlib import Path

import man
import pytest
import typer

from stackwright.cli.app import COMMANDS, LazyCommand

ARGUMENTS = {"TH": r'"[^"]+" "1" "" "[^"]+" "[^"]+"', "SH": "[A-Z ]+", "RS": "4", "PP": "", "TP": ""}
ARGUMENTS |= {"RE": "", "nf": "", "fi": ""}
ENDS = {"RS": "RE", "nf": "fi"}  # macro that opens a block → the one that ends it
ESCAPE = re.compile(r"\\(?:f.|\(..|\[[^]]*\]|.)")
SPELLED = {"\\fB", "\\fR", "\\-", "\\e", "\\&", "\\(aq", "\\(ga", "\\(ha", "\\(ti"}
UNICODE = re.compile(r"\\\[u[0-9A-F]{4,5}\]")
LONGEST = 64  # characters of a word that fit into a line, with its indentation
LINKED = "kubectl-stackwright.1"
PAGES = man.pages()


def plain(text: str) -> str:
    """Text as a reader sees it."""
    for written, char in (("\\(aq", "'"), ("\\(ga", "`"), ("\\-", "-"), ("\\fB", ""), ("\\fR", ""), ("\\&", "")):
        text = text.replace(written, char)
    text = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda found: chr(int(found[1], 16)), text)
    return text.replace("\\e", "\\")


def shown(page: str) -> list[str]:
    """Lines of a page as a reader sees them, by section and paragraph."""
    return plain(page).splitlines()


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


def faults(page: str) -> list[str]:
    """What man would print wrongly or warn about, by the part of roff that our pages use. `page` ends with a line end.

    Macros and escapes beyond that part, open blocks, tags without text, texts that are taken for macros, and words that
    no line can hold.
    """
    found: list[str] = []
    blocks: list[str] = []  # the macros that end the open ones
    expected = "TH"  # what the next line must be: a macro, "tag" or "text"; empty: anything
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith('.\\"'):
            continue
        name, _, rest = line[1:].partition(" ") if line[:1] in (".", "'") else ("", "", line)
        if expected and (bool(name), name) != (True, expected) and (name or expected not in ("tag", "text")):
            found.append(f"{number}: {line!r} instead of {expected}")
        expected = {"TH": "SH", "SH": "", "TP": "tag"}.get(name, "text" if expected == "tag" else "")
        if name and not re.fullmatch(ARGUMENTS.get(name, "(?!)"), rest):
            found.append(f"{number}: {line!r} is no macro with its arguments")
        if name in ENDS:
            blocks.append(ENDS[name])
        elif name in ENDS.values() and (not blocks or blocks.pop() != name):
            found.append(f"{number}: {line!r} ends no block")
        elif name in ("SH", "PP", "TP") and blocks:
            found.append(f"{number}: {line!r} in a block that ends with {blocks[-1]}")
        if unknown := {each for each in ESCAPE.findall(rest) if each not in SPELLED and not UNICODE.fullmatch(each)}:
            found.append(f"{number}: unknown escapes {unknown}")
        if re.findall(r"\\f(.)", rest) != ["B", "R"] * (rest.count("\\f") // 2):
            found.append(f"{number}: unbalanced fonts")
        if not name and not rest.strip():
            found.append(f"{number}: a blank line")
        if "fi" not in blocks and any(len(word) > LONGEST for word in plain(rest).split()):
            found.append(f"{number}: a long word")
    return found + [f"at the end: {missing} is missing" for missing in [*blocks, *filter(None, [expected])]]


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {LINKED}))
def test_a_page_has_no_fault(name: str) -> None:
    assert PAGES[name].isascii()
    assert faults(PAGES[name]) == []


def test_the_page_of_the_plug_in_is_another_one() -> None:
    [line] = PAGES[LINKED].splitlines()
    assert line == ".so man1/stackwright.1"
    assert line.rpartition("/")[2] in PAGES


HEAD = '.TH "A" "1" "" "S 1" "S"\n.SH NAME\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\n", ""),
        (".TP\n\\fB\\-\\-a\\fR\ntext\n.RS 4\n.nf\nx\n.fi\n.RE\n", ""),
        (".XX\n", "'.XX' is no macro"),
        (".a text\n", "'.a text' is no macro"),
        ("'quoted'\n", "is no macro"),
        (".TP 4 5\n\\fBa\\fR\nb\n", "'.TP 4 5' is no macro"),
        (".nf\nx\n", "at the end: fi is missing"),
        (".RS 4\nx\n.PP\n.RE\n", "in a block"),
        (".RS 4\n.nf\nx\n.RE\n.fi\n", "ends no block"),
        ("x\n.fi\n", "ends no block"),
        (".TP\n\\fBa\\fR\n", "at the end: text is missing"),
        (".TP\n\\fBa\\fR\n.TP\n\\fBb\\fR\nc\n", "'.TP' instead of text"),
        (".TP\n.PP\n", "'.PP' instead of tag"),
        ("\\fBopen\n", "unbalanced fonts"),
        ("\\fB\\fBtwice\\fR\\fR\n", "unbalanced fonts"),
        ("a\\x\n", "unknown escapes"),
        ("a\\*b\n", "unknown escapes"),
        ("\\fIa\\fR\n", "unknown escapes"),
        ("a\n\nb\n", "a blank line"),
        ("a" * 80 + "\n", "a long word"),
        (".nf\n" + "a" * 80 + "\n.fi\n", ""),
    ],
)
def test_faults_of_a_page_are_found(text: str, told: str) -> None:
    found = faults(HEAD + text)
    assert (told in found[0]) if told else (found == [])


def test_a_page_begins_with_its_title() -> None:
    assert faults(".SH NAME\na\n")[0].endswith("instead of TH")


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
    assert [top[top.index(name) + 1] for name in COMMANDS] == [command.help for command in COMMANDS.values()]


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
