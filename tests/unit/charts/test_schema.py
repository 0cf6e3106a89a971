"""The script that waits for a schema: the required version is that of the newest migration in the image."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT


@pytest.fixture
def schema() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schema", ROOT / "charts/lib/bin/schema.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", ["db/migrations", "db/api/migrations"])
def test_the_newest_migration_is_the_one_that_no_other_follows(
    schema: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    versions = tmp_path / "some_service" / folder / "versions"
    versions.mkdir(parents=True)
    (tmp_path / "some_service/__init__.py").write_text("raise ImportError('a wait imports no service')")
    (versions / "b.py").write_text("revision = 'b1'\ndown_revision = 'a1'\n")
    (versions / "a.py").write_text("revision = 'a1'\ndown_revision = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert schema.newest("some_service", folder) == "b1"


def test_an_image_without_the_service_is_an_error(schema: ModuleType) -> None:
    with pytest.raises(AssertionError, match="this image has no some_service"):
        schema.newest("some_service")
