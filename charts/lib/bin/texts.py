"""Bounds what a text of a template or an environment costs to parse.

YAML is checked as a stream of events, before PyYAML creates values: 600 bytes with aliases or merge keys may expand to
gigabytes, deep nesting overflows the stack of the process, and long numbers and directives take quadratic time.
"""

import json
import re
from collections.abc import Mapping

import yaml

LARGEST = 16 << 20  # bytes of the values of a text with all aliases expanded, about
VALUE = 64  # bytes of each value, besides the characters of strings
LONGEST = 1 << 20  # characters of a string, as in a request
DEEPEST = 100  # levels
DIGITS = {"int": 20, "float": 40}  # characters of a number
LARGE = f"The values of the text, with its aliases, have more than {LARGEST >> 20} MiB"
LONG = f"A string has more than {LONGEST} characters"
DEEP = f"The text is nested deeper than {DEEPEST} levels"
TAG = "tag:yaml.org,2002:"
TAGS = {TAG + name for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")}
DIRECTIVE = re.compile(r"(?:^|[\n\r\x85\u2028\u2029])\ufeff?%")  # these characters begin a line in YAML
RESOLVER = yaml.resolver.Resolver()


class Left:
    """How many bytes may follow. Raises ValueError if there are more."""

    def __init__(self, error=LARGE, most=LARGEST):
        self._error, self._left = error, most

    def take(self, size):
        self._left -= size
        if self._left < 0:
            raise ValueError(self._error)


def weigh(value, take, depth=0):
    """Give the size of each part of a value to `take`, which may raise ValueError."""
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise ValueError(LONG)
        take(VALUE + len(value))
        return
    take(VALUE)
    if depth > DEEPEST:
        raise ValueError(DEEP)
    if isinstance(value, Mapping):
        for key, part in value.items():
            weigh(key, take, depth + 1)
            weigh(part, take, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            weigh(part, take, depth + 1)


def load(text, loader):
    """The values of a text of JSON or YAML. Raises ValueError and YAMLError."""
    if not isinstance(text, (str, bytes)):
        raise ValueError("The template or environment is not a text")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(DEEP) from None
    except ValueError:
        text = text.decode() if isinstance(text, bytes) else text
        check(text, loader)
        try:
            return yaml.load(text, Loader=loader)
        except (IndexError, KeyError):
            raise ValueError("A value does not have the type of its tag") from None
    weigh(found, Left().take)
    return found


def check(text, loader):
    """Raise ValueError for YAML that is expensive to load."""
    if DIRECTIVE.search(text):
        raise ValueError("YAML directives (lines that begin with %) are not allowed")
    left, documents = Left(), 0
    anchors = {}  # name → size and levels of its value, None inside it
    around = [["", 0, 0]]  # anchor, size and levels of each open collection
    for event in yaml.parse(text, loader):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise ValueError("The text has more than one document")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ValueError("An alias has no anchor")
            if anchors[event.anchor] is None:
                raise ValueError("The value of an anchor contains its alias")
            size, levels = anchors[event.anchor]
            left.take(size)
        elif isinstance(event, yaml.ScalarEvent):
            check_scalar(event)
            size, levels = VALUE + len(event.value), 0
            left.take(size)
            anchors[event.anchor] = size, levels
        elif isinstance(event, yaml.CollectionStartEvent):
            check_tag(event)
            anchors[event.anchor] = None
            around.append([event.anchor, VALUE, 0])
            left.take(VALUE)
            size = levels = 0
        elif isinstance(event, yaml.CollectionEndEvent):
            name, size, levels = around.pop()
            levels += 1
            anchors[name] = size, levels
        else:
            continue
        around[-1][1] += size
        around[-1][2] = max(around[-1][2], levels)
        if len(around) + levels > DEEPEST:
            raise ValueError(DEEP)


def check_tag(event):
    if event.tag is not None and event.tag not in TAGS:
        raise ValueError(f"The tag {event.tag[:40]} is not allowed")


def check_scalar(event):
    """Long numbers are refused: PyYAML takes quadratic time for some, and keys of a dictionary may have the same hash."""
    check_tag(event)
    tag, length = event.tag, len(event.value)
    if tag is None and event.implicit[0] and length > min(DIGITS.values()):
        tag = RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False))
    most = DIGITS.get((tag or "").removeprefix(TAG), length)
    if length > most:
        raise ValueError(f"A number has more than {most} characters; quote it if it is a string")
