"""What a template can cause in Heat, with the loaders of PyYAML that Heat uses."""

from __future__ import annotations

import runpy
import sys
from types import ModuleType
from typing import Any

import pytest
import yaml

from support.paths import ROOT


@pytest.fixture
def heat(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Heat's two modules, bounded."""
    common, fetch, formats = (ModuleType(f"heat.common{name}") for name in ("", ".urlfetch", ".template_format"))
    fetched: list[tuple[str, tuple[str, ...]]] = []
    fetch.URLFetchError = OSError  # type: ignore[attr-defined]
    fetch.get = lambda url, allowed_schemes: fetched.append((url, allowed_schemes))  # type: ignore[attr-defined]
    fetch.fetched = fetched  # type: ignore[attr-defined]
    formats.yaml_loader = yaml.CSafeLoader  # type: ignore[attr-defined]
    common.urlfetch, common.template_format = fetch, formats  # type: ignore[attr-defined]
    for name, module in (("heat", ModuleType("heat")), ("heat.common", common)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(str(ROOT / "charts/heat/bin"))
    runpy.run_path(str(ROOT / "charts/heat/bin/guard.py"))["install"]()
    return common


def parsed(heat: Any, text: str) -> Any:
    return yaml.load(text, Loader=heat.template_format.yaml_loader)


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


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_that_expand_to_too_much_are_refused(heat: Any) -> None:
    assert parsed(heat, bomb(3))
    with pytest.raises(ValueError, match="expand to more than"):
        parsed(heat, bomb(30))
    with pytest.raises(ValueError, match="expand to more than"):
        parsed(heat, "a: &a " + "x" * 400_000 + "\nb: [" + ", ".join(["*a"] * 60) + "]")
    with pytest.raises(ValueError, match="contains it"):
        parsed(heat, "a: &a [*a]")


def test_a_common_template_is_parsed_as_before(heat: Any) -> None:
    text = "parameters: {a: &a {type: string}, b: *a}\nresources: {r: {type: 'OS::Heat::None'}}"
    assert parsed(heat, text) == yaml.safe_load(text)
    with pytest.raises(yaml.YAMLError):
        parsed(heat, "a: [")
