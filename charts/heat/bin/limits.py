"""Bounds the work and the results of a tenant's template in an engine: `install()`, before the program starts.

A template of 600 bytes may resolve to gigabytes: functions that multiply strings may be nested, functions may repeat each
other's results, and groups repeat the definition of a resource. So the results of functions are counted, all of an
operation together, and functions that multiply count before they create. Regular expressions and YAQL, whose time and
memory cannot be foreseen, are evaluated in a process of their own (apart.py).
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

from apart import SECONDS
from heat.engine import api, constraints, environment, function, parameters, properties, stack
from heat.engine.clients.os import keystone
from heat.engine.hot import functions as hot
from heat.engine.resources import stack_resource
from heat.engine.resources.openstack.heat import resource_group, software_deployment, structured_config
from heat.scaling import template as scaling
from oslo_config import cfg
from texts import LARGEST, LONG, LONGEST, VALUE, Left, weigh

MUCH = f"The functions and groups of the template produce or read more than {LARGEST >> 20} MiB, or take too much time"
LONGEST_YAQL = 16 << 10  # characters
STEPS = 1_000_000  # of a regular expression that is matched in this process
PATIENCE = 10  # seconds for apart.py, which has 2 of CPU time: the machine may be busy
QUEUE = 60  # seconds to wait for the expressions of others; clients of an engine wait as long
APART = 20  # seconds of CPU time that an operation may use in apart.py
SLOW = "takes too much time or memory"
BUSY = "The engine is busy with expressions of other templates; try again later"

TREE = "The stack and the stacks in it have more resources than one may have (max_resources_per_stack)"

_turn = threading.Lock()  # of eventlet in an engine, so others work while one waits
_left = ContextVar("left", default=None)
_resources = ContextVar("resources", default=None)


@contextmanager
def bounded(anew=False):
    """What is taken in this block is bounded, together with a block around it, unless it begins `anew`."""
    if _left.get() is not None and not anew:
        yield
        return
    token = _left.set(Left(MUCH))
    try:
        yield
    finally:
        _left.reset(token)


def take(size):
    left = _left.get()
    if left is not None:
        left.take(size)


def inside(called, anew=False):
    """The function, bounded."""

    @wraps(called)
    def call(*args, **options):
        with bounded(anew):
            return called(*args, **options)

    return call


def weighed(called):
    """The function, whose results are counted."""

    @wraps(called)
    def call(*args, **options):
        result = called(*args, **options)
        weigh(result, take)
        return result

    return call


def fits(length):
    """Raises ValueError for the length of a string that is too long."""
    if length > LONGEST:
        raise ValueError(LONG)


def swapped(text, old, new):
    """`text.replace(old, new)`."""
    if old in text:
        fits(len(text) + text.count(old) * (len(new) - len(old)))
        text = text.replace(old, new)
    take(VALUE + len(text))
    return text


def changed(instance, **fields):
    """A copy of a function of a template. `copy` cannot be used: such functions define it otherwise."""
    copy = object.__new__(type(instance))
    copy.__dict__.update(instance.__dict__, **fields)
    return copy


def bound_resolve():
    resolve = function.resolve

    def call(snippet, nullable=False):
        if isinstance(snippet, str):
            return snippet
        with bounded():
            result = resolve(snippet, nullable)
            if isinstance(snippet, function.Function):
                weigh(result, take)
            return result

    function.resolve = call


def replace(self):
    """As Heat's Replace.result, but each value is converted once, and the result is counted before it is created."""
    text, values = function.resolve(self._string), function.resolve(self._mapping)
    if not isinstance(text, str):
        raise TypeError(f'"{self.fn_name}" template must be a string')
    if not isinstance(values, Mapping):
        raise TypeError(f'"{self.fn_name}" params must be a map')
    if not all(isinstance(key, str) for key in values):
        raise TypeError(f'"{self.fn_name}" param placeholders must be strings')
    missing = set(values)
    parts = [text]  # of the text, and between them, at odd indexes, values
    for key in sorted(sorted(values), key=len, reverse=True):
        value = self._validate_replacement(values[key], key)
        grown = []
        for index, part in enumerate(parts):
            if index % 2:
                grown.append(part)
                continue
            first, *others = part.split(key)
            grown.append(first)
            for other in others:
                grown += (value, other)
        if len(grown) > len(parts):
            missing.discard(key)
        parts = grown
        take(len(text) // 16 + 4 * len(parts))
    if self._strict and missing:
        names = ",".join(sorted(sorted(missing), key=len, reverse=True))
        raise ValueError(f"The following params were not found in the template: {names}")
    fits(sum(map(len, parts)))
    return "".join(parts)


def joined(join, field, lists_of):
    """Heat's Join.result, after a count of the strings; others, which become JSON, are counted as a part of the result."""

    def result(self):
        delimiter, found = function.resolve(self._delim), function.resolve(getattr(self, field))
        items = [item for each in lists_of(found) if isinstance(each, list) for item in each]
        if isinstance(delimiter, str):
            fits(len(delimiter) * len(items) + sum(len(item) for item in items if isinstance(item, str)))
        return join(changed(self, _delim=delimiter, **{field: found}))

    return result


def repeated(self, keys, values, template):
    """As Heat's Repeat._do_replacement, for one combination of values."""
    take(VALUE)
    if isinstance(template, str):
        for key, value in zip(keys, values):
            template = swapped(template, key, value)
        return template
    if isinstance(template, Mapping):
        return {repeated(self, keys, values, key): repeated(self, keys, values, part) for key, part in template.items()}
    if isinstance(template, (list, tuple)):
        return [repeated(self, keys, values, part) for part in template]
    return template


def text_of(item):
    return json.dumps(item, sort_keys=True)


def concatenated(concat):
    def result(self):
        if not self._unique:
            return concat(self)
        found = {}
        for item in concat(changed(self, _unique=False)):
            found.setdefault(text_of(item), item)
        return list(found.values())

    return result


def filtered(filter_):
    def result(self):
        sequence, values = function.resolve(self._sequence), function.resolve(self._values)
        if isinstance(sequence, list) and isinstance(values, list):
            without = {text_of(value) for value in values}
            return [item for item in sequence if text_of(item) not in without]
        return filter_(changed(self, _sequence=sequence, _values=values))

    return result


def apart(name, *arguments):
    """The result of a function of apart.py. Raises ValueError.

    The operation is charged the maximum before, because a process that is killed does not tell what it used.
    """
    take(cost(SECONDS))
    answer = asked(name, arguments)
    take(cost(answer["seconds"]) - cost(SECONDS))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["result"]


def cost(seconds):
    return int(seconds / APART * LARGEST)


def asked(name, arguments):
    """The answer of apart.py, which runs once at a time in each process of an engine. Raises ValueError."""
    if not _turn.acquire(timeout=QUEUE):
        raise ValueError(BUSY)
    try:
        text = json.dumps([name, arguments])
        if len(text) > LARGEST:
            raise ValueError(MUCH)
        return evaluated(text.encode())
    finally:
        _turn.release()


def evaluated(text):
    command = [sys.executable, "-BP", Path(__file__).with_name("apart.py")]
    try:
        # No pipes: nothing waits for them, and what is written, and read here, is limited.
        with open(os.memfd_create("question"), "w+b") as question, open(os.memfd_create("answer"), "rb") as answer:
            question.write(text)
            question.seek(0)
            streams = {"stdin": question, "stdout": answer, "stderr": subprocess.DEVNULL}
            subprocess.run(command, **streams, env={}, timeout=PATIENCE)
            answer.seek(0)
            found = json.loads(answer.read(LARGEST))
        return {**found, "seconds": float(found["seconds"])}
    except Exception:  # some name the command; that of `timeout` is of another class under eventlet
        raise ValueError(f"The expression {SLOW}, or is invalid") from None


def yaql(self):
    expression, data = function.resolve(self._expression), function.resolve(self._data)
    parsed(self, expression)
    options = {"yaql.limitIterators": cfg.CONF.yaql.limit_iterators, "yaql.memoryQuota": cfg.CONF.yaql.memory_quota}
    return apart("yaql", expression, {"data": data}, options)


def parsed(self, expression):
    if not isinstance(expression, str):
        raise TypeError(f'The "expression" argument to {self.fn_name} must contain a string.')
    if len(expression) > LONGEST_YAQL:
        raise ValueError(f"The expression has more than {LONGEST_YAQL} characters")
    return _parse(self, expression)


_parse = hot.Yaql._parse


def is_quick(pattern, text):
    """Whether a match takes STEPS at most, whatever it is: the quantifiers multiply, none repeats a group, and no step
    compares a whole group, as a reference to one does.
    """
    quantifiers, alternatives = sum(map(pattern.count, "*+?{")), pattern.count("|")
    if re.search(r"\)[*+?{]|\(\?[a-zA-Z(-]|\\[1-9]", pattern) or quantifiers + alternatives > 20 or len(pattern) > 1000:
        return False
    return (len(text) + 1) ** quantifiers * 2**alternatives <= STEPS


class Pattern:
    """A regular expression, as Heat uses it."""

    def __init__(self, pattern):
        self._pattern = pattern
        if is_quick(pattern, ""):
            re.compile(pattern)  # raises what is wrong

    def match(self, text):
        if is_quick(self._pattern, text):
            return re.match(self._pattern, text)
        end = apart("matches", self._pattern, text)
        return None if end is None else SimpleNamespace(end=lambda: end)


def filter_of_types(pattern):
    """A filter is matched with hundreds of names, so it must be quick. Heat finds nothing for a wrong one."""
    if not is_quick(pattern, "x" * 100):
        raise ValueError(f"The filter {SLOW}")
    return re.compile(pattern)


def member_count(count):
    most = cfg.CONF.max_resources_per_stack
    if count is not None and 0 <= most < count:
        raise ValueError(f"A group may have {most} members at most")
    return count


def bound_functions():
    hot.Replace.result = inside(replace)
    hot.Join.result = inside(joined(hot.Join.result, "_strings", lambda found: [found]))
    hot.JoinMultiple.result = inside(joined(hot.JoinMultiple.result, "_joinlists", lambda found: found))
    hot.Repeat._do_replacement = repeated
    hot.Repeat.result = inside(hot.Repeat.result)
    hot.ListConcat.result = inside(concatenated(hot.ListConcat.result))
    hot.Filter.result = inside(filtered(hot.Filter.result))
    hot.Yaql._parse, hot.Yaql.result = parsed, inside(yaql)


def built(build):
    """The function that defines a member of a group. Its strings are counted when they are changed or rendered."""

    @wraps(build)
    def call(self, *args):
        made = build(self, *args)
        weigh(made.render_hot(), lambda _: take(VALUE))
        return made

    return call


def bound_groups():
    group, structured = resource_group.ResourceGroup, structured_config.StructuredDeployment
    size, definitions, make = group.get_size, scaling.member_definitions, scaling.make_template
    group.get_size = lambda self: member_count(size(self))
    group._assemble_nested = inside(group._assemble_nested)
    group._assemble_for_rolling_update = inside(group._assemble_for_rolling_update)
    group._handle_repl_val = lambda self, name, value: repeated(self, [self.properties[self.INDEX_VAR]], [name], value)
    for each in (group, software_deployment.SoftwareDeploymentGroup, structured_config.StructuredDeploymentGroup):
        each.build_resource_definition = built(each.build_resource_definition)
    structured._build_derived_config = inside(weighed(structured._build_derived_config))

    def members(old, new, count, *args, **options):
        return definitions(old, new, member_count(count), *args, **options)

    def counted(resources):
        for name, definition in resources:
            weigh(definition.render_hot(), take)
            yield name, definition

    scaling.member_definitions = members
    scaling.make_template = inside(lambda found, *args, **options: make(counted(found), *args, **options), anew=True)


def in_tree(called):
    """The function, which visits the stacks in a stack before they are created: together they are bounded as if they were.

    A template may name another one a hundred times, which names another one a hundred times, and so on.
    """

    @wraps(called)
    def call(*args, **options):
        most = cfg.CONF.max_resources_per_stack
        if _resources.get() is not None or most < 0:
            return called(*args, **options)
        token = _resources.set(Left(TREE, most))
        try:
            return called(*args, **options)
        finally:
            _resources.reset(token)

    return call


def bound_trees():
    resource = stack_resource.StackResource
    check = resource._validate_nested_resources

    def counted(self, template):
        left = _resources.get()
        if left is not None:
            left.take(len(template[template.RESOURCES]))
        return check(self, template)

    resource._validate_nested_resources = counted
    for name in ("validate", "get_nested_parameters", "preview_resources"):
        setattr(stack.Stack, name, in_tree(getattr(stack.Stack, name)))


def install():
    bound_resolve()
    bound_functions()
    bound_groups()
    bound_trees()
    api.format_stack_outputs = inside(api.format_stack_outputs)
    parameters.Parameters.validate = inside(parameters.Parameters.validate)
    # Those of a nested stack have the patterns of its parameters.
    properties.Properties.validate = inside(properties.Properties.validate)
    constraints.re = SimpleNamespace(compile=Pattern, findall=re.findall)
    environment.re = SimpleNamespace(compile=filter_of_types)
    # The time of this search is quadratic. Names in Keystone are shorter.
    keystone.re = SimpleNamespace(search=lambda pattern, text: re.search(pattern, text) if len(text) < 1000 else None)
