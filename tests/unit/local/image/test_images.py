"""Building in order, the cache, and the command line; buildah itself is not run."""

import json
import platform
import shutil
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackwright.cli.images.images import app
from stackwright.local.commands import LocalError, quiet
from stackwright.local.image import images, recipes
from stackwright.local.image.archive import Layer
from stackwright.local.image.buildah import Buildah
from stackwright.local.image.cache import ImageCache, Meta
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.recipes import Catalogue
from support.registry.archives import built

DIGEST = "0123456789abcdef" * 4


def meta(name: str, digest: str = DIGEST) -> Meta:
    layers = [Layer(digest="sha256:a", size=70), Layer(digest="sha256:b", size=30)]
    return Meta(name=name, reference=f"x/{name}:1", digest=digest, base="base", layers=layers, seconds=1.5)


def keep(cache: ImageCache, name: str, digest: str = DIGEST) -> None:
    cache.root.mkdir(exist_ok=True)
    with cache.scratch(name) as scratch:
        finished = scratch / "finished"
        finished.mkdir()
        (finished / "image.tar").write_text("archive")
        (finished / "sbom.json").write_text("{}")
        cache.keep(finished, meta(name, digest))


@pytest.fixture
def cache(tmp_path):
    return ImageCache(tmp_path / "images")


def test_a_kept_image_is_found_again(cache):
    assert cache.image("keystone", DIGEST) is None
    keep(cache, "keystone")
    image = cache.image("keystone", DIGEST)
    assert (image.reference, image.size, image.base) == ("x/keystone:1", 100, "base")
    assert image.archive.read_text() == "archive"
    assert [path.name for path in cache.root.iterdir()] == ["keystone-0123456789ab"]


@pytest.mark.parametrize("damage", ["no archive", "torn meta", "other digest"])
def test_an_incomplete_image_counts_as_not_built_and_is_replaced(cache, damage):
    keep(cache, "keystone", "0123456789ab" + "f" * 52 if damage == "other digest" else DIGEST)
    folder = cache.folder("keystone", DIGEST)
    if damage == "no archive":
        (folder / "image.tar").unlink()
    if damage == "torn meta":
        (folder / "meta.json").write_text('{"name": "keys')
    assert cache.image("keystone", DIGEST) is None
    keep(cache, "keystone")
    assert cache.image("keystone", DIGEST)


def test_leftovers_of_a_killed_build_are_deleted(cache):
    (cache.root / ".building-keystone-x").mkdir(parents=True)
    with cache.exclusive(print):
        assert not (cache.root / ".building-keystone-x").exists()


def test_a_second_process_waits_and_reports_it(cache):
    said, order = [], []

    def second():
        with cache.exclusive(said.append):
            order.append("second")

    with cache.exclusive(print):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            time.sleep(0.001)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == ["waiting for another process that builds images"]


def test_prune_removes_images_without_a_recipe(cache):
    keep(cache, "keystone")
    keep(cache, "keystone", "f" * 64)
    keep(cache, "gone")
    assert cache.prune({"keystone": DIGEST}) == ["gone-0123456789ab", "keystone-ffffffffffff"]
    assert cache.image("keystone", DIGEST)


class FakeBuilder:
    """Takes a moment for each image, and notes what ran. The images `meet` are built together, or not at all."""

    def __init__(self, failing: str = "", meet: tuple[str, ...] = ()) -> None:
        plain = {"title": "t", "version": "1", "licenses": "MIT", "user": "1:1"}
        bases = {"alone": None, "base": None, "python": "base", "keystone": "python", "glance": "python"}
        recipes = {name: plain | {"base": base} for name, base in bases.items()}
        self.catalogue = Catalogue.model_validate({"refreshed": "", "images": recipes})
        self.failing, self.meet = failing, dict.fromkeys(meet, threading.Barrier(max(1, len(meet)), timeout=60))
        self.log: list[str] = []
        self.running = self.most = 0
        self.lock = threading.Lock()

    def build(self, name: str) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        if name in self.meet:
            self.meet[name].wait()
        time.sleep(0.005)
        with self.lock:
            self.running -= 1
            self.log.append(name)
        if name == self.failing:
            raise RuntimeError(name)


def test_images_are_built_two_at_a_time_after_their_bases():
    builder, said = FakeBuilder(meet=("alone", "base")), []
    images._build_in_order(builder, ["keystone", "glance", "base", "python", "alone"], said.append)
    assert sorted(builder.log) == ["alone", "base", "glance", "keystone", "python"]
    assert builder.log.index("base") < builder.log.index("python") < builder.log.index("keystone")
    assert builder.most == 2
    assert said[0] == "building alone and base (0 of 5 images built)"


def test_an_existing_base_causes_no_wait():
    builder = FakeBuilder()
    images._build_in_order(builder, ["keystone"], lambda text: None)
    assert builder.log == ["keystone"]


def test_a_failure_ends_the_building():
    builder = FakeBuilder(failing="python")
    with pytest.raises(RuntimeError, match="python"):
        images._build_in_order(builder, ["base", "python", "keystone"], lambda text: None)
    assert "keystone" not in builder.log


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path))
    return tmp_path


def test_references_are_known_before_anything_is_built(empty_cache):
    references = images.references()
    assert references["keystone"].startswith("stackwright.local/keystone:")
    published = images.references("example.org/sw")["keystone"]
    assert published == references["keystone"].replace("stackwright.local", "example.org/sw")


def test_list_shows_built_images(empty_cache):
    digest = images._builder().digests["keystone"]
    keep(ImageCache(empty_cache / "images"), "keystone", digest)
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["list", "-o", "json"]).output)}
    assert rows["keystone"]["built"]
    assert rows["keystone"]["size"] == 100
    assert not rows["mariadb"]["built"]
    table = CliRunner().invoke(app, ["list"]).output
    assert table.startswith("NAME ")
    assert "mariadb: " not in table


def test_list_shows_the_digests_of_complete_images(empty_cache):
    complete_in(empty_cache, "pause")
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["list", "-o", "json"]).output)}
    assert (rows["pause"]["built"], rows["pause"]["digest"], rows["base"]["digest"]) == (True, None, None)
    (image,) = images.complete(["pause"])
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["list", "-o", "json"]).output)}
    assert rows["pause"]["digest"] == image.descriptor.digest


def test_wanted_images_are_those_that_are_complete_by_default(empty_cache):
    """`verify` asks for what `push` pushes."""
    complete_in(empty_cache, *recipes.load().images)
    assert images.wanted(prefix="a/b") == [f"a/b/{image.title}" for image in images.complete()]
    assert images.wanted(["pause"]) == [images.references()["pause"]]


def test_load_without_a_running_node_says_how_to_start_one(empty_cache, monkeypatch):
    monkeypatch.setattr("stackwright.local.steps.context.nodes_of", lambda cluster: [])
    keep(ImageCache(empty_cache / "images"), "pause", images._builder().digests["pause"])
    result = CliRunner().invoke(app, ["load", "pause"])
    assert result.exit_code == 1
    assert "No node is running; `stackwright up` starts them, with these images." in result.output


def test_an_unknown_image_is_rejected_with_the_known_names(empty_cache):
    result = CliRunner().invoke(app, ["build", "keystoen"])
    assert result.exit_code == 1
    known = ", ".join(sorted(recipes.load().images))
    assert f"Unknown image 'keystoen'; did you mean keystone or keystoneclient? allowed: {known}." in result.output


def test_a_built_image_is_not_built_again(empty_cache, monkeypatch):
    builder = images._builder()
    for name in ("base", "python", "base-python", "keystone"):
        keep(ImageCache(empty_cache / "images"), name, builder.digests[name])
    monkeypatch.setattr(images, "_build_in_order", lambda *_: pytest.fail("built something"))
    assert [image.name for image in images.ensure_all(names=["keystone"])] == [
        "base",
        "python",
        "base-python",
        "keystone",
    ]


def test_another_machine_builds_no_image_and_uses_built_ones(empty_cache, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(Buildah, "call", lambda *_: pytest.fail("called buildah"))
    keep(ImageCache(empty_cache / "images"), "pause", images._builder().digests["pause"])
    assert [image.name for image in images.ensure_all(names=["pause"])] == ["pause"]
    result = CliRunner().invoke(app, ["build", "base"])
    assert result.exit_code == 1
    assert "Image base would be built for arm64; Stackwright's images are tested on amd64 only." in result.output


def complete_in(cache: Path, *names: str) -> None:
    """The cache has archives of these images, by the digests of their recipes."""
    builder = images._builder()
    for name in names:
        keep(ImageCache(cache / "images"), name, builder.digests[name])
        shutil.rmtree(ImageCache(cache / "images").folder(name, builder.digests[name]))
        image = built(cache, name, name.encode(), tag=builder.digests[name][:12])
        written = meta(name, builder.digests[name]).model_copy(update={"reference": image.reference, "base": None})
        (image.archive.parent / "meta.json").write_text(written.model_dump_json())


def test_complete_images_are_those_that_are_named_and_need_no_archive_later(empty_cache):
    complete_in(empty_cache, "pause", "ingress", "base", "mariadb")
    first = images.complete(["mariadb", "pause"])
    assert sorted(image.title.partition(":")[0] for image in first) == ["mariadb", "pause"]
    shutil.rmtree(empty_cache / "images")
    assert images.complete(["mariadb", "pause"]) == first


def test_complete_images_are_all_that_nodes_need_by_default(empty_cache):
    complete_in(empty_cache, *recipes.load().images)
    names = {image.title.partition(":")[0] for image in images.complete()}
    assert names == set(recipes.load().images) - {"guest"}


def test_an_image_that_another_process_removes_meanwhile_is_reported(empty_cache, monkeypatch):
    """Another checkout has other recipes, so that its `images prune` removes these images."""
    complete_in(empty_cache, "pause")
    add = Layout.add

    def pruned(self, built, report):
        add(self, built, report)
        self.prune([])

    monkeypatch.setattr(Layout, "add", pruned)
    with pytest.raises(LocalError, match=r"Image pause was removed by another process. Run the same command again"):
        images.complete(["pause"])
    monkeypatch.setattr(ImageCache, "image", lambda *_: None)
    with pytest.raises(LocalError, match=r"Image pause was removed by another process"):
        images.ensure_all(names=["pause"])


def test_prune_removes_complete_images_too(empty_cache):
    complete_in(empty_cache, "pause")
    layout = Layout.of(images._builder().cluster)
    layout.add([built(empty_cache, "gone", b"gone")], quiet)
    (pause,) = images.complete(["pause"])
    result = CliRunner().invoke(app, ["prune"])
    assert result.output.split() == ["gone-1"]
    assert layout.images() == [pause]
