"""Names of the cloud's public endpoints, in our own block of /etc/hosts; the rest of the file stays unchanged."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

FILE = Path("/etc/hosts")
BEGIN = "# stackwright: begin (written by `stackwright up`, removed by `stackwright down`)"
END = "# stackwright: end"
# A block without an end (in a truncated file) extends to the last line with an address of our nodes.
BLOCK = re.compile(r"# stackwright: begin[^\n]*\n(?:10\.89\.0\.[^\n]*\n?)*(?:# stackwright: end[^\n]*\n?)?")


def with_block(text: str, lines: list[str]) -> str:
    """The file's text with exactly these lines in our block; without a block if there are no lines."""
    block = "\n".join([BEGIN, *lines, END]) + "\n" if lines else ""
    if BLOCK.search(text):
        first = BLOCK.sub("\0", text, count=1)
        return BLOCK.sub("", first).replace("\0", block)
    separator = "\n" if block and text and not text.endswith("\n") else ""
    return text + separator + block


def has_block(file: Path = FILE) -> bool:
    return BLOCK.search(_text(file)) is not None


def is_current(lines: list[str], file: Path = FILE) -> bool:
    text = _text(file)
    return with_block(text, lines) == text


def write(lines: list[str], file: Path = FILE) -> None:
    """Write the block atomically, if it differs."""
    text = _text(file)
    new = with_block(text, lines)
    if new == text:
        return
    target = file.resolve()
    aside = target.with_name(f"{target.name}.stackwright")
    aside.write_bytes(_bytes(new))
    if target.exists():
        shutil.copymode(target, aside)
        os.chown(aside, target.stat().st_uid, target.stat().st_gid)
    try:
        aside.replace(target)
    except OSError:  # inside a container the file is a mount, which cannot be replaced
        aside.unlink()
        target.write_bytes(_bytes(new))


def remove(file: Path = FILE) -> None:
    write([], file)


def _text(file: Path) -> str:
    """The file's text, lossless: unknown bytes and line ends of other systems are preserved."""
    try:
        return file.read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        return ""


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
