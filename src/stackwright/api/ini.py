"""INI text as oslo.config reads it → section → option → text. Pure."""

from __future__ import annotations

import configparser

from stackwright.api.errors import name_of
from stackwright.api.lines import LINE, OPTION

Sections = dict[str, dict[str, str]]
# configparser gives options of its default section to every other one; to oslo.config, DEFAULT is one like all others.
_NO_DEFAULT = "\0"


def sections(text: str) -> Sections:
    """Raises ValueError for what is no INI, or says more than single values can."""
    parser = configparser.ConfigParser(
        default_section=_NO_DEFAULT, interpolation=None, delimiters=("=", ":"), comment_prefixes=("#", ";")
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(f"is not in the form of an INI file: {_short(error)}") from None
    found = {name: dict(parser.items(name)) for name in parser.sections()}
    for name, options in found.items():
        for option, value in options.items():
            _check(name, option, value)
    return found


def _check(name: str, option: str, value: str) -> None:
    for text in (name, option):
        if not OPTION.matches(text):
            raise ValueError(f"{name_of(text)} {OPTION.message}")
    where = f"[{name}] {option}"
    if "{{" in value:
        raise ValueError(f"{where}: {{{{ … }}}} is not supported by this version of Stackwright")
    if "\n" in value:
        raise ValueError(f"{where}: a value of several lines is not supported by this version of Stackwright")
    if not LINE.matches(value):
        raise ValueError(f"{where}: {LINE.message}")


def _short(error: configparser.Error) -> str:
    """What is wrong, without the text of a line: passwords are written there."""
    match error:
        case configparser.DuplicateOptionError():
            return f"line {error.lineno}: [{error.section}] {error.option} is there twice"
        case configparser.DuplicateSectionError():
            return f"line {error.lineno}: [{error.section}] is there twice"
        case configparser.MissingSectionHeaderError():
            return f"line {error.lineno}: an option stands before the first [section]"
        case configparser.ParsingError():
            return ", ".join(f"line {number}: no option = value" for number, _ in error.errors)  # it may be a secret
        case _:
            return type(error).__name__
