"""What is accepted as a tar file of complete images: an export, and nothing that a tar file can have besides."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Callable
from typing import Any

import pytest

from stackwright.local.image.published import tar
from stackwright.local.image.published.tar import Malformed

BLOB = f"blobs/sha256/{'a' * 64}"
OTHER = f"blobs/sha256/{'b' * 64}"


def packed(*files: tuple[str, bytes], change: Callable[[tarfile.TarInfo], Any] = lambda entry: None) -> bytes:
    """`change` is made to the last file's entry."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number, (name, content) in enumerate(files, 1):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if number == len(files):
                change(entry)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    file = io.BytesIO(content)
    return {name: content[each.offset : each.offset + each.size] for name, each in tar.members(file).items()}


def refusal(content: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        members(content)
    return str(caught.value)


def test_written_files_are_read_again() -> None:
    made = io.BytesIO()
    files = {"oci-layout": b"{}", "index.json": b"", BLOB: b"x" * 1500, OTHER: b"y" * 512}
    with tar.writing(made) as archive:
        for name, content in files.items():
            tar.add(archive, name, len(content), io.BytesIO(content))
    assert members(made.getvalue()) == files


@pytest.mark.parametrize(
    "name",
    [
        "/index.json",
        "../index.json",
        "./index.json",
        "blobs/sha256/../../index.json",
        f"/blobs/sha256/{'a' * 64}",
        f"blobs/sha256/{'A' * 64}",
        f"blobs/sha256/{'a' * 63}",
        f"blobs/sha256/{'a' * 64}/b",
        f"blobs/sha512/{'a' * 64}",
        "blobs/sha256/",
        "index.json\n",
        "ïndex.json",
        "",
    ],
)
def test_no_other_name_is_accepted(name: str) -> None:
    assert refusal(packed((BLOB, b"x"), (name, b"x")))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.LNKTYPE, "is a link"),
        (tarfile.SYMTYPE, "is a link"),
        (tarfile.CHRTYPE, "is a device"),
        (tarfile.BLKTYPE, "is a device"),
        (tarfile.FIFOTYPE, "is a pipe"),
        (tarfile.DIRTYPE, "is a folder"),
        (tarfile.CONTTYPE, "is of an unknown kind"),
        (tarfile.AREGTYPE, "is of an unknown kind"),
        (tarfile.GNUTYPE_SPARSE, "is of an unknown kind"),
        (tarfile.GNUTYPE_LONGNAME, "is of an unknown kind"),
        (tarfile.XHDTYPE, "is of an unknown kind"),
        (tarfile.XGLTYPE, "is of an unknown kind"),
        (b"Z", "is of an unknown kind"),
    ],
)
def test_only_plain_files_are_accepted(kind: bytes, words: str) -> None:
    def changed(entry: tarfile.TarInfo) -> None:
        entry.type, entry.linkname, entry.size = kind, "/etc/passwd", 0

    assert words in refusal(packed((BLOB, b""), change=changed))


def test_extended_headers_are_not_followed() -> None:
    """They may give a file another name and another size."""

    def named(entry: tarfile.TarInfo) -> None:
        entry.pax_headers = {"path": "/etc/passwd", "size": "99999999999"}

    assert "is of an unknown kind" in refusal(packed((BLOB, b"x"), change=named))
    long = packed((f"{'a/' * 300}index.json", b"x"))
    assert "is of an unknown kind" in refusal(long)


def test_a_name_is_accepted_once() -> None:
    assert refusal(packed((BLOB, b"x"), (OTHER, b"x"), (BLOB, b"x"))) == f"it has {BLOB} twice"


def header(size: bytes) -> bytes:
    """Of a file with any bytes as its size."""
    made = bytearray(packed((BLOB, b"x"))[:512])
    made[124:136] = size
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (b"00000001751\0", "ends after the end"),  # one byte more than there is
        (b"77777777777\0", "ends after the end"),
        (b"\x80" + b"\0" * 3 + b"\x7f" * 8, "ends after the end"),
        (b"\xff" * 12, "has a size that is not valid"),
        (b"\xff" + b"\0" * 11, "has a size that is not valid"),
        (b"-0000000001\0", "has a size that is not valid"),
        (b"none" + b"\0" * 8, "no tar file, or damaged"),
    ],
)
def test_no_size_leads_out_of_the_file(size: bytes, words: str) -> None:
    assert words in refusal(header(size) + b"\0" * 1000)


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 1000, 1024, 1535, 1536, 2000])
def test_a_file_that_is_cut_is_refused(length: int) -> None:
    """Before its end, which is a block of zeros."""
    content = packed((BLOB, b"x" * 100), (OTHER, b"y" * 100))
    assert "missing" in refusal(content[:length]) or "cut" in refusal(content[:length])


def test_other_files_are_refused() -> None:
    assert "no tar file" in refusal(b"\x1f\x8b" + b"x" * 1000)
    assert "no tar file" in refusal(b"x" * 1024)


def test_the_number_of_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar, "_MOST", 2)
    assert refusal(packed((BLOB, b""), (OTHER, b""), ("index.json", b""))) == "it has more than 2 files"


def test_any_damage_is_refused_or_keeps_places_within_the_file() -> None:
    content = packed((BLOB, b"x" * 600), (OTHER, b"y"))
    chance = random.Random(1)
    for _ in range(500):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 5)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            found = tar.members(io.BytesIO(bytes(damaged)))
        except Malformed:
            continue
        assert set(found) <= {BLOB, OTHER}
        assert all(each.offset + each.size <= len(damaged) for each in found.values())


@pytest.mark.parametrize("more", [b"x", b"\0" * 512 + b"x", b"\0" * 30_000])
def test_nothing_follows_the_end(more: bytes) -> None:
    assert refusal(packed((BLOB, b"one")) + more) == "it goes on after its end"
