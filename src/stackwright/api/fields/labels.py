"""Names and values of labels, as the API server accepts them."""

from __future__ import annotations

import re

from stackwright.api.fields.naming import OBJECT

_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
QUALIFIED = "is not a valid name of a label or annotation, such as app or example.org/app"
VALUE = "takes at most 63 letters, digits, -, _ and ., with a letter or digit at both ends"


def is_qualified(text: str) -> bool:
    """Whether a text can be the name of a label or an annotation: a word, which a DNS name and `/` may precede."""
    prefix, slash, name = text.rpartition("/")
    return _WORD.fullmatch(name) is not None and (not slash or OBJECT.matches(prefix))


def is_value(text: str) -> bool:
    return not text or _WORD.fullmatch(text) is not None
