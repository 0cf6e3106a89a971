"""The bounds of an engine, limits.py, with a stub of Heat."""

from __future__ import annotations

import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from support.paths import ROOT

BIN = ROOT / "charts/heat/bin"
MODULES = (
    "heat.common", "heat.engine", "heat.engine.clients.os", "heat.engine.hot", "heat.engine.resources",
    "heat.engine.resources.openstack.heat", "heat.scaling", "oslo_config",
)  # fmt: skip
NAMES = (
    "urlfetch", "template_format", "environment_format", "api", "constraints", "environment", "function", "parameters",
    "properties", "keystone", "functions", "resource_group", "software_deployment", "structured_config", "template",
    "cfg", "stack", "stack_resource",
)  # fmt: skip


class Function:
    """Of a template."""

    def __init__(self, result: Any) -> None:
        self.result = result


def resolve(snippet: Any, nullable: bool = False) -> Any:
    return snippet.result() if isinstance(snippet, Function) else snippet


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # in the folder of the chart
    for name in MODULES:
        module = ModuleType(name)
        module.__dict__.update({each: SimpleNamespace() for each in NAMES})
        monkeypatch.setitem(sys.modules, name, module)
    engine: Any = sys.modules["heat.engine"]
    engine.function.Function, engine.function.resolve = Function, resolve
    formats: Any = sys.modules["heat.common"]
    formats.template_format.yaml_loader = yaml.CSafeLoader
    functions: Any = sys.modules["heat.engine.hot"]
    functions.functions.Yaql = SimpleNamespace(_parse=None)
    monkeypatch.setattr(sys, "path", [str(BIN), *sys.path])
    yield SimpleNamespace(**runpy.run_path(str(BIN / "limits.py")), engine=engine, Function=Function)
