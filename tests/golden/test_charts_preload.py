"""Several workers of an API share the modules that uWSGI's master imports before the fork."""

import ast
import configparser
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import ROOT
from tests.golden.test_charts import helm

# Importing Nova lets eventlet replace threads and sockets, and opens the descriptor by which eventlet waits.
OPEN_BY_IMPORT = {("nova", "nova_api_uwsgi"), ("nova", "nova_metadata_uwsgi")}
SCRIPTS = Path("/opt/stackwright")


def values(chart: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "charts" / chart / "values.yaml").read_text())
    return loaded


APIS = [
    (path.parent.name, key)
    for path in sorted((ROOT / "charts").glob("*/values.yaml"))
    for key, conf in (values(path.parent.name).get("conf") or {}).items()
    if isinstance(conf, dict) and Path(conf.get("uwsgi", {}).get("wsgi-file", "/")).is_relative_to(SCRIPTS)
]
each_api = pytest.mark.parametrize(("chart", "key"), [api for api in APIS if api not in OPEN_BY_IMPORT], ids=str)


def rendered(chart: str, key: str, *options: str) -> tuple[dict[str, str], dict[str, str]]:
    """The options of uWSGI, and the scripts of the chart: file → text."""
    case = next((ROOT / "tests/golden/charts" / chart).glob("*/values.yaml"))
    done = helm(
        "template", chart, str(ROOT / "charts" / chart), f"--values={case}",
        *(f"--set=conf.{key}.uwsgi.{option}" for option in options),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data: dict[str, dict[str, str]] = {
        item["metadata"]["name"]: item["data"]
        for item in yaml.load_all(done.stdout, yaml.CSafeLoader)
        if item and item["kind"] == "ConfigMap"
    }
    parser = configparser.RawConfigParser()
    parser.read_string(data[f"{chart}-etc"][key.replace("_", "-") + ".ini"])
    return dict(parser["uwsgi"]), data[f"{chart}-bin"]


def imported(script: str) -> set[str]:
    """Modules that a script imports by absolute name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def test_every_api_is_covered() -> None:
    assert {chart for chart, _ in APIS} == {
        "barbican",
        "cinder",
        "designate",
        "glance",
        "heat",
        "keystone",
        "neutron",
        "nova",
        "placement",
    }
    assert set(APIS) >= OPEN_BY_IMPORT


@each_api
def test_several_workers_share_the_imports_of_their_script(chart: str, key: str) -> None:
    uwsgi, scripts = rendered(chart, key, "processes=2")
    shared = Path(uwsgi["shared-import"])
    assert shared.parent == SCRIPTS
    assert "gc.freeze()" in scripts[shared.name]
    modules = set(uwsgi["preload"].split())
    for module in list(modules):
        modules |= imported(scripts.get(f"{module}.py", ""))
    theirs = imported(scripts[Path(uwsgi["wsgi-file"]).name])
    assert {name for name in theirs if name.partition(".")[0] == chart} <= modules


@each_api
def test_a_single_worker_shares_no_modules(chart: str, key: str) -> None:
    assert not rendered(chart, key, "processes=1")[0].keys() & {"shared-import", "preload"}


@each_api
def test_values_override_the_chart(chart: str, key: str) -> None:
    assert rendered(chart, key, "processes=2", "shared-import=os")[0]["shared-import"] == "os"


@pytest.mark.parametrize(("chart", "key"), sorted(OPEN_BY_IMPORT), ids=str)
def test_modules_that_open_files_are_imported_by_each_worker(chart: str, key: str) -> None:
    uwsgi, scripts = rendered(chart, key, "processes=2")
    assert "shared-import" not in uwsgi
    assert "preload.py" not in scripts
