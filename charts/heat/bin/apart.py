"""Evaluates an expression of a tenant in a process of its own, with limits: reads JSON, writes the result as JSON.

A regular expression may take years, and functions of YAQL as much memory as there is. Neither can be interrupted in an
engine, nor has limits there that hold. A small result may refer to one value many times, so it is counted before it
becomes a text.
"""

import collections.abc  # noqa: F401 - YAQL uses it without an import
import json
import re
import resource
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from texts import LARGEST, Left, weigh  # noqa: E402

SECONDS = 2  # of CPU time
MEMORY = 128 << 20  # of addresses; Python and YAQL take 48 MiB, the largest values that are allowed 96 MiB
LIMITS = {
    resource.RLIMIT_CPU: SECONDS,
    resource.RLIMIT_AS: MEMORY,
    resource.RLIMIT_FSIZE: LARGEST,
    resource.RLIMIT_CORE: 0,
}
MUCH = f"The result of the expression has more than {LARGEST >> 20} MiB"


def matches(pattern, text):
    """The end of the match at the begin of the text, or None."""
    found = re.match(pattern, text)
    return found and found.end()


def yaql(expression, data, options):
    from yaql import YaqlFactory, create_context

    return YaqlFactory().create(options)(expression).evaluate(data, create_context())


FUNCTIONS = {"matches": matches, "yaql": yaql}


def text_of(**fields):
    return json.dumps({**fields, "seconds": time.process_time()})


def answer(name, *arguments):
    """The result of a function, or its error, in JSON."""
    try:
        result = FUNCTIONS[name](*arguments)
        weigh(result, Left(MUCH).take)
        text = text_of(result=result)
        if len(text) > LARGEST:
            raise ValueError(MUCH)
        return text
    except (MemoryError, RecursionError):
        sys.exit(1)
    except Exception as error:
        return text_of(error=str(error)[:200] or type(error).__name__)


if __name__ == "__main__":
    for limit, most in LIMITS.items():
        resource.setrlimit(limit, (most, most))
    name, arguments = json.load(sys.stdin)
    sys.stdout.write(answer(name, *arguments))
