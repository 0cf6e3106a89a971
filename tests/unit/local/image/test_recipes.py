"""Recipes: every declaration can be built, and a digest changes exactly when an image would."""

import platform
import re
import shutil
import tomllib

import pytest
import yaml
from pydantic import ValidationError

from stackwright.api.services.kinds import OPENSTACK_VERSION
from stackwright.local.commands import LocalError
from stackwright.local.image import inputs, recipes
from stackwright.local.image.recipes import Catalogue
from support.paths import ROOT


def catalogue(**images: dict) -> Catalogue:
    plain = {"title": "t", "version": "1", "licenses": "MIT", "user": "1:1"}
    return Catalogue.model_validate(
        {"refreshed": "2026-01-01", "images": {name: plain | more for name, more in images.items()}}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An images folder with a base, and an image on it."""
    monkeypatch.setattr(inputs, "images_folder", lambda: tmp_path)
    for name in ("low", "high", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Containerfile").write_text(f"FROM scratch # {name}\n")
    return tmp_path


def test_our_own_recipes_are_valid_and_name_their_bases_first():
    ours = recipes.load()
    order = ours.order()
    for name, recipe in ours.images.items():
        assert recipe.base is None or order.index(recipe.base) < order.index(name)
        assert (ROOT / "images" / name / "Containerfile").exists()


def test_every_image_runs_as_the_user_of_its_recipe():
    for name, recipe in recipes.load().images.items():
        users = re.findall(r"^USER (\S+)$", (ROOT / "images" / name / "Containerfile").read_text(), re.M)
        assert (users[-1] if users else "0:0") == recipe.user, name


# They create network devices and virtual machines of their node.
RULE_A_NODE = {"libvirt", "openvswitch", "ovn"}


def test_only_images_to_build_on_or_to_rule_a_node_run_as_root_and_no_two_services_share_a_user():
    ours = recipes.load()
    bases = {recipe.base for recipe in ours.images.values()}
    users = {
        name: recipe.user for name, recipe in ours.images.items() if name not in bases | RULE_A_NODE | {"operator"}
    }
    assert "0:0" not in users.values()
    assert sorted(users.values()) == sorted(set(users.values()) | {"65532:65532"})


def test_versions_match_the_content():
    ours = recipes.load().images
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((ROOT / "charts/stackwright/Chart.yaml").read_text())
    assert ours["operator"].version == chart["version"] == chart["appVersion"] == project
    assert f"coredns/coredns v{ours['coredns'].version}" in (ROOT / "tools/coredns/go.mod").read_text()


def test_a_chart_has_the_version_of_its_image():
    ours = recipes.load().images
    charts = {path.parent.name: yaml.safe_load(path.read_text()) for path in ROOT.glob("charts/*/Chart.yaml")}
    both = {name: (str(chart["appVersion"]), ours[name].version) for name, chart in charts.items() if name in ours}
    assert {name for name, (chart, image) in both.items() if image == OPENSTACK_VERSION} >= {"keystone", "nova"}
    assert {name: versions for name, versions in both.items() if len(set(versions)) > 1} == {}


def test_no_file_names_a_mirror_or_a_registry():
    for path in (ROOT / "images").rglob("*"):
        if path.is_file():
            assert not re.search(r"https?://|docker\.io|quay\.io|ghcr\.io", path.read_text()), path


def test_a_comment_in_a_recipe_does_not_change_a_digest(folder):
    images = catalogue(low={})
    before = recipes.digests(images)
    (folder / "low" / inputs.RECIPE).write_text("title: t  # in a few words\n")
    assert recipes.digests(images) == before


def test_a_digest_covers_the_context(folder):
    images = catalogue(low={})
    before = recipes.digests(images)
    assert recipes.digests(images) == before
    (folder / "low" / "script").write_text("one")
    with_script = recipes.digests(images)
    assert with_script != before
    (folder / "low" / "script").chmod(0o755)
    assert recipes.digests(images) != with_script


def test_files_outside_of_an_image_do_not_change_its_digest(folder):
    images = catalogue(low={})
    before = recipes.digests(images)
    (folder / "low" / "__pycache__").mkdir()
    (folder / "low" / "__pycache__" / "x.pyc").write_text("compiled")
    (folder / "low" / ".Containerfile.swp").write_text("an editor's")
    assert recipes.digests(images) == before


def test_a_link_counts_as_a_copy_of_what_it_points_to(folder):
    images, low = catalogue(low={}), folder / "low"
    (low / "library").mkdir()
    (low / "library" / "tool").write_text("one")
    (low / "library" / "tool").chmod(0o755)
    (low / "library" / "deeper").symlink_to("../other")
    (low / "other").mkdir()
    (low / "other" / "text").write_text("two")
    (low / "linked").symlink_to("library")
    (low / "tool").symlink_to("linked/tool")
    with_links = recipes.digests(images)
    shutil.copytree(low, folder / "copy")
    shutil.rmtree(low)
    (folder / "copy").rename(low)
    assert not any(path.is_symlink() for path in low.rglob("*"))
    assert recipes.digests(images) == with_links
    (low / "linked" / "deeper" / "text").write_text("three")
    assert recipes.digests(images) != with_links


def test_links_out_of_a_tree_to_nothing_and_in_a_circle_are_no_part_of_it(folder, tmp_path):
    images, low = catalogue(low={}), folder / "low"
    for name in ("a", "b"):
        (low / name).mkdir()
        (low / name / "file").write_text(name)
    before, outside = recipes.digests(images), ["nothing", "../other", "../other/Containerfile", "loop", ".", "/"]
    for number, target in enumerate(outside):
        (low / f"link{number}").symlink_to(target)
    (low / "loop").symlink_to("loop")
    (low / "a" / "up").symlink_to("..")
    assert recipes.digests(images) == before
    (low / "a" / "x").symlink_to("../b")
    (low / "b" / "y").symlink_to("../a")
    assert recipes.digests(images) != before
    inputs.stage(low, tmp_path / "staged", {})
    staged = sorted(str(p.relative_to(tmp_path / "staged")) for p in (tmp_path / "staged").rglob("*") if p.is_file())
    assert staged == ["Containerfile", "a/file", "a/x/file", "b/file", "b/y/file"]
    assert not any(path.is_symlink() for path in (tmp_path / "staged").rglob("*"))


def test_all_our_links_are_part_of_their_tree():
    linked = [path for path in inputs.source_path("charts").rglob("*") if path.is_symlink()]
    files = set(inputs.files(inputs.source_path("charts")))
    for link in linked:
        assert link in files or any(link in path.parents for path in files), link
    assert linked
    assert not any(path.is_symlink() for path in inputs.images_folder().rglob("*"))


def test_a_digest_is_the_same_on_each_machine(folder, monkeypatch):
    images = catalogue(low={})
    here = recipes.digests(images)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert recipes.digests(images) == here


def test_a_changed_base_changes_only_images_built_on_it(folder):
    images = catalogue(low={}, high={"base": "low"}, other={})
    before = recipes.digests(images)
    (folder / "low" / "Containerfile").write_text("FROM scratch # new\n")
    after = recipes.digests(images)
    assert {name for name in before if before[name] != after[name]} == {"low", "high"}


def test_a_changed_recipe_and_a_refresh_change_the_digest(folder):
    assert recipes.digests(catalogue(low={})) != recipes.digests(catalogue(low={"version": "2"}))
    refreshed = catalogue(low={}).model_copy(update={"refreshed": "2026-02-02"})
    assert recipes.digests(refreshed) != recipes.digests(catalogue(low={}))


def test_closure_and_chain():
    images = catalogue(low={}, middle={"base": "low"}, high={"base": "middle"}, other={"base": "low"})
    assert images.chain("high") == ["low", "middle", "high"]
    assert images.closure(["high", "low"]) == ["low", "middle", "high"]
    assert images.waiting_for("low") == 3
    assert images.waiting_for("high") == 0


def test_mistakes_are_named():
    with pytest.raises(ValidationError, match="unknown base image: nothing"):
        catalogue(low={"base": "nothing"})
    with pytest.raises(ValidationError, match="cycle"):
        catalogue(a={"base": "b"}, b={"base": "a"})
    with pytest.raises(ValidationError, match="Extra inputs"):
        catalogue(low={"colour": "red"})
    with pytest.raises(ValidationError, match="package"):
        catalogue(low={"sources": {"x": "/etc"}})
    with pytest.raises(LocalError, match="Unknown image 'hight'; allowed: low"):
        catalogue(low={}).recipe("hight")


def test_references():
    assert recipes.reference("keystone", "0123456789abcdef") == "stackwright.local/keystone:0123456789ab"
    assert recipes.reference("k", "0" * 64, "example.org/sw") == "example.org/sw/k:000000000000"


def test_staging_copies_sources_without_ignored_files(folder, monkeypatch, tmp_path):
    source = tmp_path / "package"
    (source / "__pycache__").mkdir(parents=True)
    (source / "module.py").write_text("x = 1")
    (source / "_assets").mkdir()
    monkeypatch.setattr(inputs, "PACKAGE", source)
    target = tmp_path / "staged"
    inputs.stage(folder / "low", target, {"stackwright": "package"})
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*")) == [
        "Containerfile",
        "stackwright",
        "stackwright/module.py",
    ]


TITLES = {"nova": "nova:222222222222", "glance": "glance:111111111111", "new": "new:333333333333"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        (
            {"nova": "r.example/p/nova:000000000000", "glance": "r.example/p/glance:111111111111"},
            {
                "nova": "r.example/p/nova:222222222222",
                "glance": "r.example/p/glance:111111111111",
                "new": "r.example/p/new:333333333333",
            },
        ),
        (
            {"nova": "a/nova:000000000000", "glance": "b/glance:000000000000"},
            {"nova": "a/nova:222222222222", "glance": "b/glance:111111111111"},
        ),
        (
            {"nova": "a/nova:2026.1", "glance": f"a/glance@sha256:{'0' * 64}", "gone": "a/gone:000000000000"},
            {"nova": "a/nova:2026.1", "glance": f"a/glance@sha256:{'0' * 64}", "gone": "a/gone:000000000000"},
        ),
        (
            {"nova": "r/p/nova:000000000000-mine", "glance": "r/p/my-glance:000000000000"},
            {"nova": "r/p/nova:000000000000-mine", "glance": "r/p/my-glance:000000000000"},
        ),
    ],
    ids=["nothing", "an older version", "two prefixes", "choices of the owner", "names and tags that are longer"],
)
def test_an_upgrade_uses_the_registry_of_the_operator(given: dict[str, str], expected: dict[str, str]) -> None:
    assert recipes.upgraded(given, TITLES) == expected
