from pathlib import Path

from stackwright.local.image import store


def test_the_key_ignores_order_but_no_image() -> None:
    assert store.key(["a:1", "b:2"]) == store.key(["b:2", "a:1"])
    assert store.key(["a:1", "b:2"]) != store.key(["a:1", "b:3"])
    assert store.key(["a:1"]) != store.key(["a:1", "b:2"])


def test_a_clone_shares_layers_but_not_databases(tmp_path: Path) -> None:
    source = tmp_path / "source"
    blob = source / store.LINKED[0] / "sha256" / "abc"
    database = source / store.COPIED[0]
    for path in (blob, database):
        path.parent.mkdir(parents=True)
        path.write_text("content")
    store.clone(source, tmp_path / "target")
    target = tmp_path / "target"
    assert (target / store.LINKED[0] / "sha256" / "abc").stat().st_ino == blob.stat().st_ino
    assert (target / store.COPIED[0]).stat().st_ino != database.stat().st_ino
    assert not (tmp_path / "target.cloning").exists()
