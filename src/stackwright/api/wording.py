"""Messages for pydantic's errors, in terms of Kubernetes manifests rather than Python."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

LONGEST_NAME = 64  # maximum characters of a name for which similar names are searched
SEARCHED = 5  # maximum number of names for which similar names are searched
EMPTY = "must not be empty"
BOOL, TEXT, MAPPING = "takes true or false", "takes text; quote it", "takes a mapping of fields"
INT, FLOAT, LIST = "takes a whole number", "takes a number", "takes a list"

NO_SYNONYMS: Mapping[str, str] = {}

# Error type → message; {…} are replaced from the context of the error.
_WORDS: Mapping[str, str] = {
    "bool_type": BOOL,
    "bool_parsing": BOOL,
    "string_type": TEXT,
    "int_type": INT,
    "int_parsing": INT,
    "int_parsing_size": "takes a smaller number",
    "int_from_float": INT,
    "float_type": FLOAT,
    "float_parsing": FLOAT,
    "finite_number": FLOAT,
    "dict_type": MAPPING,
    "mapping_type": MAPPING,
    "model_type": MAPPING,
    "model_attributes_type": MAPPING,
    "list_type": LIST,
    "tuple_type": LIST,
    "set_type": LIST,
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}


def message_of(item: Mapping[str, Any]) -> str:
    """The message for one error of pydantic. Messages of our own validators are unchanged."""
    context = {name: _whole(value) for name, value in (item.get("ctx") or {}).items()}
    words = _WORDS.get(item["type"])
    if words is None:
        return str(item["msg"]).removeprefix("Value error, ")
    if context.get("min_length") == 1:
        return EMPTY
    if item["type"] == "too_long" and context.get("max_length") == 1:
        return "must have at most 1 entry"
    return words.format(**context)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def similar_names(name: object, known: Iterable[object], synonyms: Mapping[str, str] = NO_SYNONYMS) -> str:
    """Known names with similar spelling, in any case, as `a or b`; empty for a known name, and without similar names.

    A synonym is replaced by the name that it stands for, also after `~`.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return ""
    spelt = {each.lower(): each for each in known if isinstance(each, str)}
    word = name.lower()
    bare = word.removeprefix("~")
    other = word.removesuffix(bare) + synonyms.get(bare, bare)
    same = next((each for each in (word, other) if each in spelt), None)
    close = [same] if same else get_close_matches(word, spelt, 2, 0.7)
    return " or ".join(spelt[each] for each in close if spelt[each] != name)


def did_you_mean(known: Collection[object], *names: object, synonyms: Mapping[str, str] = NO_SYNONYMS) -> str:
    """A question with the similar known names and a space at its end; empty without similar names."""
    close = " or ".join(filter(None, (similar_names(name, known, synonyms) for name in names[:SEARCHED])))
    return f"did you mean {close}? " if close else ""


def choices(name: object, known: Collection[str], synonyms: Mapping[str, str] = NO_SYNONYMS) -> str:
    """The end of an error about an unknown name: similar names, and all known ones."""
    return f"{did_you_mean(known, name, synonyms=synonyms)}allowed: {', '.join(known) or 'none'}"


def unknown(
    what: str, names: Collection[str], known: Collection[str], synonyms: Mapping[str, str] = NO_SYNONYMS
) -> str:
    """The error for unknown names of a list."""
    similar = did_you_mean(known, *names, synonyms=synonyms)
    return f"unknown {what} {', '.join(names)}; {similar}allowed: {', '.join(known)}"
