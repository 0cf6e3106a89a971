"""Parser of INI text as oslo.config reads it: section → option → text, or list of texts for a repeated option. Pure.

Repeated sections are merged. A repeated option keeps all its values in order: oslo.config uses all values of a
multi-valued option, such as service_provider, and the last value of any other.
"""

from __future__ import annotations

from stackwright.api.errors import NOT_SUPPORTED, name_of
from stackwright.api.fields.lines import LINE, OPTION

LINES = 5000  # of a text; the largest known one has some hundreds
Sections = dict[str, dict[str, str | list[str]]]


def sections(text: str) -> Sections:
    """Parse INI text. Raises ValueError for invalid INI and for syntax that chart values cannot express.

    The message never quotes a value, which may be a secret.
    """
    if text.count("\n") > LINES:
        raise ValueError(f"has more than {LINES} lines")
    found: Sections = {}
    here: dict[str, str | list[str]] | None = None
    section = option = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if raw[0].isspace() and option:
            raise ValueError(f"{_place(section, option)}: a value of several lines {NOT_SUPPORTED}")
        if line[0] == "[":
            section, option = _header(number, line), ""
            here = found.setdefault(section, {})
            continue
        option, value = _option(number, line)
        if here is None:
            raise _bad(number, "an option before the first [section]")
        if problem := _problem(value):
            raise ValueError(f"{_place(section, option)}: {problem}")
        here[option] = _together(section, option, here[option], value) if option in here else value
    return found


def _header(number: int, line: str) -> str:
    if line[-1] != "]" or not line[1:-1]:
        raise _bad(number, "no [section]")
    return _named(line[1:-1])


def _option(number: int, line: str) -> tuple[str, str]:
    ends = [at for at in (line.find("="), line.find(":")) if at >= 0]
    option = line[: min(ends, default=0)].strip()
    if not option:
        raise _bad(number, "not in the form option = value")
    return _named(option), line[min(ends) + 1 :].strip()


def _named(text: str) -> str:
    if not OPTION.matches(text):
        raise ValueError(f"{name_of(text)} {OPTION.message}")
    return text


def _together(section: str, option: str, before: str | list[str], value: str) -> list[str]:
    values = before if isinstance(before, list) else [before]
    values.append(value)
    if values[0].startswith("~") or value.startswith("~"):  # because ~ removes an item in lists of chart values
        raise ValueError(f"{_place(section, option)}: ~ at the beginning of a repeated option {NOT_SUPPORTED}")
    return values


def _problem(value: str) -> str:
    """What is wrong with the value of an option; empty if nothing is."""
    if "{{" in value:
        return f"{{{{ … }}}} {NOT_SUPPORTED}"
    return "" if LINE.matches(value) else LINE.message


def _place(section: str, option: str) -> str:
    return f"[{name_of(section)}] {name_of(option)}"


def _bad(number: int, problem: str) -> ValueError:
    return ValueError(f"is not in INI format: line {number}: {problem}")
