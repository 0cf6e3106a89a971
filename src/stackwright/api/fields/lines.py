"""Single-line texts: one definition for fields, for options of configuration files and for values from Secrets.

Text after a line break would be interpreted as another option, variable or field. Therefore each text of a spec is a
`Line`, unless its field is intended for several lines; tests/unit/api/test_lines.py lists those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any

from stackwright.api.errors import name_of
from stackwright.api.fields.naming import Format

# For use in [^…]: control characters except the tab, and all characters that any program treats as a line break.
BREAKS = r"\x00-\x08\n-\x1f\x7f\x85\u2028\u2029"
LINE = Format(f"[^{BREAKS}]*", None, "must be one line, without control characters")
MOST = 20  # paths in an error
LENGTH = 255  # maximum length of names, and of most other texts, in the databases of OpenStack
URL = Format(f"https?://[^{BREAKS}]*", None, "must be a URL that begins with http:// or https://")
# Characters that a section or option name must not contain, as in the library chart (lib.oslo_conf.name).
_NAME = r"=\[\]\t" + BREAKS
OPTION = Format(f"[A-Za-z0-9_]([^{_NAME}]*[^ {_NAME}])?", LENGTH, "is not a valid name in a configuration file")

Line = Annotated[str, LINE]
Short = Annotated[str, replace(LINE, longest=LENGTH)]
Url = Annotated[str, URL]
OptionName = Annotated[str, OPTION]


def unlined(values: Any, path: str) -> Iterator[str]:
    """Paths of keys and texts in free-form values that are not single lines, at most MOST. A path ends at a key."""
    return (path + below for below in islice(_unlined(values), MOST))


def _unlined(values: Any) -> Iterator[str]:
    """The paths below a value. A name is checked for secrets only if it is part of one, since that takes time."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if not LINE.matches(str(key)):
                yield f".{name_of(key)}"
                continue
            name = ""
            for below in _unlined(value):
                name = name or f".{name_of(key)}"
                yield name + below
    elif isinstance(values, list):
        for index, value in enumerate(values):
            for below in _unlined(value):
                yield f"[{index}]{below}"
    elif isinstance(values, str) and not LINE.matches(values):
        yield ""
