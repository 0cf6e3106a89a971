"""Helm is started only if the records of a release contain only its own objects, for every parser."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import itertools
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.adapters.helm.command import HelmCli
from stackwright.adapters.helm.records import check_records
from stackwright.api.kinds import INGRESS_CLASS
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.manifests import KINDS, Unreadable, document_headers
from stackwright.core.helm.records import CHECKED, manifest_digest, record_of
from stackwright.main import Options, runtime
from support.paths import GOLDEN

CHARTS = GOLDEN / "charts"
OWN = ("mine", "x")
GOOD = "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: |\n    text\n"
EVIL = "apiVersion: v1\nkind: Secret\nmetadata: {name: keystone-admin, namespace: victim}\n"

STATEFULSET = "metadata: {name: db, namespace: victim}\napiVersion: apps/v1\nkind: StatefulSet\n"


def packed(text: str) -> str:
    return base64.b64encode(base64.b64encode(gzip.compress(text.encode(), mtime=0))).decode()


def secret(payload: str, name="sh.helm.release.v1.x.v1", labels=True):
    marks = {"labels": {"owner": "helm", "name": "x"}} if labels else {}
    return {"metadata": {"name": name, "namespace": "mine", **marks}, "data": {"release": payload}}


def record(manifest=GOOD, **more):
    return packed(json.dumps({"name": "x", "namespace": "mine", "version": 1, "manifest": manifest, **more}))


class Kubernetes:
    """Secrets of one namespace, and IngressClasses."""

    def __init__(self, *secrets, classes=()):
        self.secrets, self.classes = secrets, {each["metadata"]["name"]: each for each in classes}

    async def list(self, kind, namespace="", labels=None):
        wanted = (labels or {}).items()
        return [each for each in self.secrets if (each["metadata"].get("labels") or {}).items() >= wanted]

    async def get(self, kind, key):
        if kind == INGRESS_CLASS:
            return self.classes.get(key[1])
        return next((each for each in self.secrets if each["metadata"]["name"] == key[1]), None)


async def test_a_record_of_a_shipped_chart_is_fine():
    await check_records(Kubernetes(), OWN)
    await check_records(Kubernetes(secret(record()), secret(record(GOOD * 3, hooks=None))), OWN, 1)
    await check_records(Kubernetes(secret(record(GOOD.replace("  name: a", "  name: a\n  namespace: mine")))), OWN)


@pytest.mark.parametrize(
    "payload",
    [
        "", "!", base64.b64encode(b"{").decode(), packed("[]"), packed("{"), packed("7"),
        record(GOOD + "---\n" + EVIL),
        record(EVIL),
        record(hooks=[{"name": "h", "manifest": GOOD}]),
        record(namespace="victim"),
        record(name="y"),
        record(Manifest=EVIL),
        packed('{"name": "x", "namespace": "mine", "manifest": "", "manifest": ' + json.dumps(EVIL) + "}"),
        packed('{"name": "x", "namespace": "mine", "HOO\u212aS": [{"manifest": "a"}]}'),
        record(" " * 9 * 1024 * 1024),
    ],
)  # fmt: skip
async def test_any_other_record_is_rejected(payload):
    with pytest.raises(
        TerminalError, match=r"^Secret mine/sh\.helm\.release\.v1\.x\.v1, a record of release x, "
    ) as error:
        await check_records(Kubernetes(secret(payload)), OWN)
    assert "victim" not in str(error.value)


@pytest.mark.parametrize(
    "manifest",
    [
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: victim}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n",
        "apiVersion: evil.dev/v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a, namespace: mine}\n",
        "apiVersion: networking.k8s.io/v1\nkind: IngressClass\n",
        "kind: ConfigMap\nmetadata: {namespace: ~}\napiVersion: v1\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: mine, namespace: victim}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: mine}\nMetadata: {namespace: victim}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: mine, <<: {namespace: victim}}\n",
        "apiVersion: v1\nkind: ConfigMap\n<<: {metadata: {namespace: victim}}\n",
        "a: &a {namespace: victim}\napiVersion: v1\nkind: ConfigMap\nmetadata: *a\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {!!binary bmFtZXNwYWNl: victim}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {? [a] : b}\n",
        f"apiVersion: v1\nkind: ConfigMap\nitems: [{{{EVIL.splitlines()[1]}}}]\n",
        "{apiVersion: v1, kind: ConfigMap}",
        "--- |\n  a\n" + EVIL,
        "---a: b\n" + EVIL,
        GOOD + "...\n---\n" + EVIL,
        GOOD + "\r---\r" + EVIL,
        GOOD + "\u2028---\u2028" + EVIL,
        *(GOOD + f"---\n{space}{STATEFULSET}" for space in ("\u00a0", "\u2003", "\u3000", "\u0085", "\x0b", "\x0c")),
        "apiVersion: v1\nkind: ConfigMap\n\u00a0metadata: {namespace: victim}\n",
        "\u3000kind: Namespace\nKIND: ConfigMap\napiVersion: v1\nmetadata: {name: victim}\n",
        "- a\n", "text\n", "a: [\n", "a: \x00\n", "%YAML 1.1\n---\n" + GOOD,
    ],
)  # fmt: skip
async def test_an_object_that_is_not_of_the_release_is_refused_however_it_is_written(manifest):
    with pytest.raises(TerminalError, match=r"so Helm would change objects of other releases"):
        await check_records(Kubernetes(secret(record(manifest))), OWN)


async def test_the_record_to_roll_back_to_needs_no_labels():
    evil = secret(record(EVIL), labels=False)
    await check_records(Kubernetes(evil), OWN)
    with pytest.raises(TerminalError):
        await check_records(Kubernetes(evil), OWN, 1)


@pytest.mark.parametrize("manifest", [GOOD, GOOD.replace("v1\nkind: ConfigMap", "apps/v1\nkind: DaemonSet")])
async def test_only_the_installed_manifest_is_rolled_back_to(manifest):
    installed = manifest_digest(secret(record(manifest, info={"status": "deployed"}, config={"a": 1.0})))
    assert len(installed) == 64
    await check_records(Kubernetes(secret(record(manifest, info={"status": "superseded"}))), OWN, 1, installed)
    forged = Kubernetes(secret(record(manifest.replace("text", "other"))))
    await check_records(forged, OWN)
    with pytest.raises(TerminalError, match="v1, a record of release x, is not what Helm installed as revision 1"):
        await check_records(forged, OWN, 1, installed)
    with pytest.raises(TerminalError, match="is not what Helm installed"):
        await check_records(forged, OWN, 1, "")


@pytest.mark.parametrize("payload", ["", packed("{"), record(manifest=7), record(manifest=None)])
def test_an_unreadable_record_has_no_digest(payload):
    assert manifest_digest(secret(payload)) == ""
    assert manifest_digest(None) == ""


@pytest.mark.parametrize(
    ("marks", "fine"),
    [
        ({"meta.helm.sh/release-name": "x", "meta.helm.sh/release-namespace": "mine"}, True),
        ({"meta.helm.sh/release-name": "x", "meta.helm.sh/release-namespace": "victim"}, False),
        ({}, False),
        (None, True),
    ],
)
async def test_an_ingress_class_is_of_the_release_that_helm_marked_on_it(marks, fine):
    manifest = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n"
    classes = [] if marks is None else [{"metadata": {"name": "public", "annotations": marks}}]
    reader = Kubernetes(secret(record(manifest)), classes=classes)
    if fine:
        await check_records(reader, OWN)
        return
    with pytest.raises(TerminalError, match="contains an IngressClass of another release"):
        await check_records(reader, OWN)


async def test_helm_is_not_started_on_a_forged_record(tmp_path):
    """The program is none: to start it would be another error."""
    helm = HelmCli(tmp_path, binary="/nowhere", records=Kubernetes(secret(record(EVIL))))
    for call in (helm.uninstall(OWN), helm.rollback(OWN, 1, "")):
        with pytest.raises(TerminalError, match="a record of release x"):
            await call
    helm.close()


def test_the_kinds_are_those_of_the_charts_that_helm_bundles_install():
    """And every chart passes."""
    found = set()
    for path in CHARTS.glob("*/*/rendered.yaml"):
        for head in document_headers(path.read_text()):
            if path.parents[1].name not in ("stackwright", "local-volume-provisioner"):
                found.add((head["apiversion"].rpartition("/")[0], head["kind"]))
    assert found - {(INGRESS_CLASS.group, INGRESS_CLASS.kind)} == KINDS


SIZE = 2**20
LETTERS = ("".join(each) for each in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=4))
HOSTILE = {
    "lists": ', "chart": [' + "[]," * (SIZE // 3) + "1]",
    "objects": ', "chart": [' + '{"a":1},' * (SIZE // 8) + "1]",
    "levels": ', "chart": ' + "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "fields": "".join(f', "f{number}": 0' for number in range(SIZE // 14)),
    "hooks": ', "hooks": [' + "[]," * (SIZE // 3) + "1]",
    "text in another alphabet": ', "config": "' + "x" * SIZE + '\U0001f600"',
}
HOSTILE_MANIFESTS = {
    "empty documents": "---\n" * (SIZE // 4),
    "documents": "a: b\n---\n" * (SIZE // 9),
    "keys": "".join(f"{each}: a\n" for each in itertools.islice(LETTERS, SIZE // 8)),
    "levels": "a:\n" + "- " * (SIZE // 2),
    "flow": "a: " + "[" * SIZE,
    "list": "a: [" + "a," * (SIZE // 2),
}


@pytest.mark.parametrize("name", [*HOSTILE, *(f"manifest: {name}" for name in HOSTILE_MANIFESTS)])
async def test_a_hostile_record_uses_only_a_small_multiple_of_its_size(name):
    manifest = HOSTILE_MANIFESTS.get(name.removeprefix("manifest: "), "") if name not in HOSTILE else ""
    head = f'{{"name": "x", "namespace": "mine", "manifest": {json.dumps(manifest)}'
    cluster = Kubernetes(secret(packed(head + HOSTILE.get(name, "") + "}")))
    tracemalloc.start()
    try:
        with contextlib.suppress(TerminalError):
            await check_records(cluster, OWN)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 9 * SIZE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["name", "namespace", "manifest", "hooks", "chart", "config", "info", 'q"}', "[,\\"])


@given(st.dictionaries(NAMES, JSON, min_size=1), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_the_reader_of_records_agrees_with_a_yaml_parser(fields, indent, ascii_only):
    text = json.dumps(fields, indent=indent, ensure_ascii=ascii_only)
    whole = dict(json.loads(text, object_pairs_hook=tuple))
    wanted = {name.casefold(): value if name in CHECKED else None for name, value in whole.items()}
    assert record_of(packed(text)) == wanted


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_directives_are_refused_before_they_are_parsed(end):
    """A record may have 500,000 of them, which take libyaml minutes: it compares each with all others."""
    with pytest.raises(Unreadable, match="directives"):
        document_headers(f"{GOOD}---\n#{end}%TAG !a! b{end}")


def test_a_manifest_is_text():
    with pytest.raises(Unreadable):
        document_headers(["a"])


@pytest.mark.parametrize("unrestricted", [False, True])
async def test_the_operator_checks_records_unless_helm_bundles_are_unrestricted(unrestricted, monkeypatch):
    started = []

    async def run(*arguments, **more):
        started.append(arguments[1])
        raise TransientError("no helm here")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", run)
    monkeypatch.setattr("stackwright.main.settings", lambda options: None)
    monkeypatch.setattr("stackwright.main.controllers", lambda *args, **more: ())
    wired = runtime(Kubernetes(secret(record(EVIL))), Options(unrestricted=unrestricted)).ports
    with contextlib.closing(wired.helm):
        if unrestricted:  # then a HelmBundle may name other namespaces and charts with any object
            with pytest.raises(TransientError):
                await wired.helm.uninstall(OWN)
        else:
            with pytest.raises(TerminalError, match="a record of release x"):
                await wired.helm.uninstall(OWN)
    assert started == (["uninstall"] if unrestricted else [])
