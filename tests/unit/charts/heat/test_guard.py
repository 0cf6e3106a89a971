"""What a text of a template can cause in Heat: guard.py with the loader that Heat uses, without Heat."""

from __future__ import annotations

import base64
import json
import runpy
import sys
import time
from types import ModuleType
from typing import Any

import pytest
import yaml

from support.paths import ROOT

HEAD = "heat_template_version: 2021-04-16\n"


class Loader(yaml.CSafeLoader):
    """As that of Heat: dates are strings."""


Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


@pytest.fixture
def heat(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Heat's modules, bounded."""
    names = ("", ".urlfetch", ".template_format", ".environment_format")
    common, fetch, formats, environments = (ModuleType(f"heat.common{name}") for name in names)
    fetched: list[tuple[str, tuple[str, ...]]] = []
    fetch.URLFetchError = OSError  # type: ignore[attr-defined]
    fetch.get = lambda url, allowed_schemes: fetched.append((url, allowed_schemes))  # type: ignore[attr-defined]
    fetch.fetched = fetched  # type: ignore[attr-defined]
    formats.yaml_loader = Loader  # type: ignore[attr-defined]
    environments.validate = lambda found: found  # type: ignore[attr-defined]
    common.urlfetch, common.template_format = fetch, formats  # type: ignore[attr-defined]
    common.environment_format = environments  # type: ignore[attr-defined]
    for name, module in (("heat", ModuleType("heat")), ("heat.common", common)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(str(ROOT / "charts/heat/bin"))
    runpy.run_path(str(ROOT / "charts/heat/bin/guard.py"))["install"]()
    return common


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "https://x/y.yaml", "ftp://x", "file:///etc/passwd", ""])
def test_templates_are_not_fetched(heat: Any, url: str) -> None:
    with pytest.raises(OSError, match="as files"):
        heat.urlfetch.get(url)
    with pytest.raises(OSError, match="as files"):
        heat.urlfetch.get(url, allowed_schemes=("http", "https"))
    assert heat.urlfetch.fetched == []


def test_heats_own_files_are_read_where_heat_permits_it(heat: Any) -> None:
    heat.urlfetch.get("file:///etc/heat/templates/a.yaml", allowed_schemes=("http", "https", "file"))
    with pytest.raises(OSError, match="as files"):
        heat.urlfetch.get("http://x/a.yaml", allowed_schemes=("http", "https", "file"))
    assert heat.urlfetch.fetched == [("file:///etc/heat/templates/a.yaml", ("file",))]


def bomb(levels: int, first: str = "[x, x, x, x, x, x, x, x, x]", merged: bool = False) -> str:
    lines = [f"a0: &a0 {first}"]
    for number in range(1, levels):
        aliases = f"[{', '.join([f'*a{number - 1}'] * 9)}]"
        lines.append(f"a{number}: &a{number} " + (f"{{<<: {aliases}}}" if merged else aliases))
    return HEAD + "\n".join(lines)


BINARY = base64.b64encode(b"x" * 40_000).decode()
EXPENSIVE = {
    "aliases": (bomb(8), "MiB"),
    "merge keys": (bomb(9, "{k: v}", merged=True), "MiB"),
    "aliases of a long string": ("a: &a " + "x" * 400_000 + "\nb: [" + ", ".join(["*a"] * 60) + "]", "MiB"),
    "what libyaml refuses": ("%YAML 1.3\n---\n" + bomb(8), "directives"),
    "directives": ("".join(f"%TAG !a{number}! b\n" for number in range(20_000)) + "---\n" + HEAD, "directives"),
    **{
        f"directives in lines that end with {end!r}": (
            f"#{end}" + "".join(f"%TAG !{number:x}! b{end}" for number in range(30_000)) + f"--- {{a: 1}}{end}",
            "directives",
        )
        for end in ("\r", "\r\n", "\x85", "\u2028", "\u2029")
    },
    "bytes": (f"{HEAD}b: &b !!binary {BINARY}\nc: [" + ", ".join(["*b"] * 3000) + "]", "tag"),
    "a set": (HEAD + "b: !!set {a: null}", "tag"),
    "code": (HEAD + "a: !!python/object/apply:os.system [x]", "tag"),
    "lists in lists": (HEAD + "a: " + "[" * 100_000 + "]" * 100_000, "levels"),
    "maps in maps": (HEAD + "a: " + "{a: " * 50_000, "levels"),
    "lists in lists in blocks": (HEAD + "a:\n" + "- " * 100_000, "levels"),
    "keys that are keys": (HEAD + "? " * 100_000, "levels"),
    "nested aliases": (
        "a0: &a0 [x]\n" + "\n".join(f"a{number}: &a{number} [*a{number - 1}]" for number in range(1, 5000)),
        "levels",
    ),
    "lists in lists of JSON": ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "levels"),
    "few lists in lists of JSON": ('{"a": ' + "[" * 200 + "]" * 200 + "}", "levels"),
    "a number of base 60": (HEAD + "a: 1" + ":1" * 80_000, "characters"),
    "a fraction of base 60": (HEAD + "a: 1" + ":1" * 80_000 + ".5", "characters"),
    "a quoted number of base 60": (HEAD + "a: !!int '1" + ":1" * 80_000 + "'", "characters"),
    "a long number": (HEAD + "a: " + "1" * 400_000, "characters"),
    "a long number of JSON": ('{"a": ' + "1" * 400_000 + "}", "characters"),
    "keys with the same hash": (
        HEAD + "a: {" + ", ".join(f"{number * (2**61 - 1)}: 1" for number in range(1, 15_000)) + "}",
        "characters",
    ),
    "documents": (HEAD + "---\n- a\n" * 60_000, "document"),
    "a value in itself": ("a: &a [*a]", "contains"),
    "no anchor": ("a: *b", "anchor"),
    "no number": ("a: !!int ''", "type"),
    "no text": (5, "text"),
    "no YAML": ("a: [", "flow node"),
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_an_expensive_text_is_refused_before_it_is_loaded(heat: Any, name: str) -> None:
    text, problem = EXPENSIVE[name]
    for parse in (heat.template_format.simple_parse, heat.environment_format.parse):
        begun = time.process_time()
        with pytest.raises(ValueError, match=problem):
            parse(text)
        assert time.process_time() - begun < 1


COMMON = """\
heat_template_version: 2021-04-16
# a comment
parameters:
  a: &a {type: string, default: 3f2a1}
  b: {<<: *a, description: "%"}
  c: {type: number, default: 1.5}
resources:
  r: {type: "OS::Heat::None", metadata: {1: yes, n: ~, h: 0x1F, t: 1:30, d: 2013-05-23, i: 18446744073709551615}}
  s:
    properties:
      text: |
        %not a directive
        [[[
      sum: 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03
"""


def test_a_common_template_is_parsed_as_before(heat: Any) -> None:
    assert heat.template_format.simple_parse(COMMON) == yaml.load(COMMON, Loader)
    made = {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Heat::None"}}}
    assert heat.template_format.simple_parse(json.dumps(made)) == made
    assert heat.environment_format.parse(json.dumps(made).encode()) == made
    assert heat.template_format.simple_parse(bomb(3))
    assert heat.template_format.simple_parse("") == heat.environment_format.parse(None) == {}


def test_only_a_mapping_is_a_template_or_an_environment(heat: Any) -> None:
    for text in ("[a]", '["a"]', "a"):
        with pytest.raises(ValueError, match="mapping"):
            heat.template_format.simple_parse(text)
        with pytest.raises(ValueError, match="mapping"):
            heat.environment_format.parse(text)
