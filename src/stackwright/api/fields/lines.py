"""Texts of one line: one definition for fields, for options of configuration files and for values from Secrets.

What follows a line break would be read as something else: another option, another variable, another field. So each
text of a spec is a `Line`, unless its field is made for several lines; those are listed in tests/unit/test_lines.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from stackwright.api.fields.naming import Format

# What a class of characters excludes, [^…]: control characters but the tab, and all that some program breaks lines at.
BREAKS = r"\x00-\x08\n-\x1f\x7f\x85\u2028\u2029"
LINE = Format(f"[^{BREAKS}]*", None, "must be one line, without control characters")
LENGTH = 255  # of names, and of most other texts, in the databases of OpenStack
URL = Format(f"https?://[^{BREAKS}]*", None, "must be a URL that begins with http:// or https://")
# Of a section or an option, as the library chart has it (lib.oslo_conf.name).
_NAME = r"=\[\]\t" + BREAKS
OPTION = Format(f"[A-Za-z0-9_]([^{_NAME}]*[^ {_NAME}])?", None, "is no name for a configuration file")

Line = Annotated[str, LINE]
Short = Annotated[str, replace(LINE, longest=LENGTH)]
Url = Annotated[str, URL]
OptionName = Annotated[str, OPTION]


def unlined(values: Any, path: str) -> Iterator[str]:
    """Paths of all keys and texts in free-form values that are not one line. A key that is none ends its path."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if LINE.matches(str(key)):
                yield from unlined(value, f"{path}.{key}")
            else:
                yield f"{path}.{re.sub(f'[{BREAKS}].*', '…', str(key), flags=re.DOTALL)}"
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from unlined(value, f"{path}[{index}]")
    elif isinstance(values, str) and not LINE.matches(values):
        yield path
