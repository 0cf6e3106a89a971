"""Evaluates an expression of a tenant in a process of its own, with limits: reads JSON, prints the result as JSON.

A regular expression may take years, and functions of YAQL as much memory as there is. Neither can be interrupted in an
engine, nor has limits there that hold.
"""

import collections.abc  # noqa: F401 - YAQL uses it without an import
import json
import re
import resource
import sys
import time

SECONDS = 2  # of CPU time
MEMORY = 512 << 20


def matches(pattern, text):
    """The end of the match at the begin of the text, or None."""
    found = re.match(pattern, text)
    return found and found.end()


def yaql(expression, data, options):
    from yaql import YaqlFactory, create_context

    return YaqlFactory().create(options)(expression).evaluate(data, create_context())


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    name, arguments = json.load(sys.stdin)
    try:
        answer = {"result": {"matches": matches, "yaql": yaql}[name](*arguments)}
        json.dumps(answer)
    except (MemoryError, RecursionError):
        sys.exit(1)
    except Exception as error:
        answer = {"error": str(error)[:200] or type(error).__name__}
    print(json.dumps({**answer, "seconds": time.process_time()}))
