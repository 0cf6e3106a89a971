"""No API unpickles data from memcached: each one under uWSGI disables this before it creates its application."""

import configparser
import importlib.abc
import importlib.machinery
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

# Its sessions: tests/unit/charts/test_sealed_cache.py.
from support.pickles import RAN, Evil
from tests.golden.test_charts import CASES, name_of, objects

WITHOUT = {"horizon"}
SERVERS = [
    case for case in CASES if case.parents[1].name in {"keystone", "glance", "placement", "cinder", "nova", "neutron"}
]


class Client:
    """python-memcached's."""

    def __init__(self, unpickler: Callable[[Any], Any] = pickle.Unpickler) -> None:
        self.unpickler = unpickler

    def get(self, raw: bytes) -> Any:
        try:
            return self.unpickler(__import__("io").BytesIO(raw)).load()
        except Exception:
            return None


class Anything(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The modules of OpenStack, which are not here."""

    def __init__(self, made: Callable[[], Any]) -> None:
        self.made = made

    def find_spec(self, name: str, *_: Any) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        made = self.made

        class Module(ModuleType):
            def __getattr__(self, name: str) -> Any:
                if name.startswith("__"):
                    raise AttributeError(name)
                return made if name.startswith(("init", "main")) else MagicMock()

        return Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def servers(case: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Of each container that uWSGI runs: name, script, and the scripts that are mounted."""
    found = objects(case)
    files = {item["metadata"]["name"]: item["data"] for item in found if item["kind"] == "ConfigMap"}
    for item in found:
        if item["kind"] not in ("Deployment", "StatefulSet"):
            continue
        pod = item["spec"]["template"]["spec"]
        volumes = {
            volume["name"]: files[volume["configMap"]["name"]] for volume in pod["volumes"] if "configMap" in volume
        }
        for container in pod["containers"]:
            if "uwsgi" not in container.get("command", []):
                continue
            mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
            mount = mounts[container["command"][-1]]
            ini = configparser.ConfigParser(interpolation=None)
            ini.read_string(volumes[mount["name"]][mount["subPath"]])
            scripts = mounts.get("/opt/stackwright", {}).get("name")
            yield container["name"], ini["uwsgi"]["wsgi-file"], volumes.get(scripts, {})


@pytest.mark.parametrize("case", SERVERS, ids=name_of)
def test_no_api_unpickles_data_from_memcached(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def made() -> None:
        asked.append(sys.modules["memcache"].Client().get(pickle.dumps(Evil())))  # type: ignore[attr-defined]

    finder = Anything(made)
    for name, script, scripts in servers(case):
        if name in WITHOUT:
            continue
        folder, path = Path(script).parent, Path(script).name
        assert str(folder) == "/opt/stackwright", f"{name} runs {script}, which does not refuse pickles"
        for file, text in scripts.items():
            (tmp_path / file).write_text(text)
            monkeypatch.delitem(sys.modules, file.removesuffix(".py"), raising=False)
        (tmp_path / "key").write_text("secret")
        memcache = ModuleType("memcache")
        memcache.Client = type("Client", (Client,), {"__init__": Client.__init__})  # type: ignore[attr-defined]
        before = set(sys.modules)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "memcache", memcache)
            patch.setattr(sys, "meta_path", [*sys.meta_path, finder])
            patch.setattr(sys, "path", [str(tmp_path), *sys.path])
            source = (tmp_path / path).read_text()
            if (tmp_path / "schema.py").exists():  # there is no database
                schema = __import__("schema")
                patch.setattr(schema, "connection_of", lambda *where: "")
                patch.setattr(schema, "wait", lambda *what: None)
            if name == "keystone-api":
                __import__("sealed_cache").KEY = tmp_path / "key"
            exec(compile(source, script, "exec"), {"__name__": path.removesuffix(".py")})
        for new in set(sys.modules) - before:
            del sys.modules[new]
        assert asked.pop() is None
        assert RAN == []
