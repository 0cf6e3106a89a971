"""For any content of a file, `apply` and `plan` accept it or report its errors, without a traceback."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackwright.api.errors import model_in
from stackwright.cli.manifests.load import COMPANIONS, BadManifest, load
from stackwright.cloud.registry import BY_KIND
from stackwright.runtime.memory import MemoryCluster
from tests.unit.cli.test_commands import called, cluster

__all__ = ["cluster"]
SLOW = settings(
    max_examples=settings.default.max_examples * 3 // 2, deadline=None, suppress_health_check=list(HealthCheck)
)
# YAML that is valid, but whose meaning is another matter.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.dates(),
    st.binary(max_size=4),
    st.sampled_from(
        ["on", "5", "22:30", "2026-11-24", "{{ name }}", "~", "NO", "1e3", "0x1f", "../x", "a\nb", "9" * 30]
    ),
)
# Text that only a developer of the program would understand.
PYTHON = r"Input should|Keys should|valid dictionary|instance of|NoneType|\b(True|False|None)\b|, not '…'|[a-z]Spec\b"
KEYS = st.text(max_size=6) | st.integers() | st.booleans() | st.dates() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(KEYS, children, max_size=3),
    max_leaves=10,
)


def field_names(model: Any, depth: int = 4) -> set[str]:
    """Names of the fields of a model and of those inside it."""
    fields = getattr(model, "model_fields", {}) if depth else {}
    inner = [field_names(model_in(field.annotation), depth - 1) for field in fields.values()]
    return {field.alias or name for name, field in fields.items()}.union(*inner)


NAMES = {kind: sorted(field_names(resource.model_fields["spec"].annotation)) for kind, resource in BY_KIND.items()}


def specs(kind: str) -> st.SearchStrategy[Any]:
    """Anything below names that the kind has somewhere."""
    names = st.sampled_from(NAMES.get(kind) or ["data", "stringData", "type"])
    return st.recursive(
        VALUES,
        lambda children: st.dictionaries(names, children, max_size=4) | st.lists(children, max_size=2),
        max_leaves=12,
    )


@st.composite
def manifests(draw: st.DrawFn) -> dict[Any, Any]:
    kind = draw(st.sampled_from([*BY_KIND, *COMPANIONS]))
    api = BY_KIND[kind].KIND.api_version if kind in BY_KIND else "v1"
    names = st.sampled_from(["name", "namespace", "labels", "annotations", "finalizers", "x"])
    meta = draw(st.just({"name": "a"}) | st.dictionaries(names, VALUES, max_size=3) | VALUES)
    spec = draw(specs(kind))
    more = draw(st.dictionaries(KEYS, VALUES, max_size=1))
    given = {"apiVersion": api, "kind": kind, "metadata": meta, "spec" if kind in BY_KIND else "data": spec}
    return {**given, **{key: value for key, value in more.items() if isinstance(key, str)}}


@SLOW
@given(st.lists(manifests() | VALUES, max_size=2))
def test_every_document_is_accepted_or_rejected_with_a_cause(documents: list[Any]) -> None:
    text = yaml.dump_all(documents, allow_unicode=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            assert load(path, "openstack")
        except BadManifest as error:
            for line in str(error).splitlines():
                assert line.startswith(str(path))
                assert line.isprintable()
                assert not re.search(PYTHON, line), line


@SLOW
@given(st.binary(max_size=60))
def test_bytes_that_are_no_text_are_reported(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.yaml"
        path.write_bytes(data)
        try:
            load(path, "openstack")
        except BadManifest as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("command", ["apply", "plan"])
@pytest.mark.parametrize(
    "text",
    [
        "name: {{ name }}\n",
        "metadata: {name: 2026-11-24}\nkind: OpenStackDeployment\n",
        f"spec: {'9' * 5000}\n",
        "on: x\n",
        "5: x\n",
        "a: &a [*a]\n",
        "a: &x 1\nb: &x 2\n",
        "[" * 3000,
        "",
        "---\n---\n",
        "\ufeff",
        "just text\n",
        "- a list\n",
        "kind: OpenStackDeployment\nspec: []\n",
        "kind: OpenStackDeployment\nmetadata: 5\nspec: {features: 7, services: [], nodes: {a: 1}, common: x}\n",
        "kind: HelmBundle\nspec: {releases: [5, {chart: [], values: x}]}\n",
        "kind: Keystone\nspec: {overrides: [{values: {keystone: 5}}, 6]}\n",
    ],
    ids=lambda text: repr(text)[:30],
)
def test_a_command_ends_with_a_handled_error(cluster: MemoryCluster, tmp_path: Path, command: str, text: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    result = called(command, "-f", str(path))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), result.exception
    assert "file.yaml" in result.stderr
    assert "Traceback" not in result.stderr
    assert not cluster.writes


def test_a_second_anchor_of_one_name_is_reported_as_such(cluster: MemoryCluster, tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text("a: &x 1\nb: &x 2\n")
    assert "is defined a second time" in called("plan", "-f", str(tmp_path / "file.yaml")).stderr
