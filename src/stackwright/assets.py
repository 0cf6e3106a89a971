"""Locations of files that are not Python: charts, image recipes, go.mod files of tools, examples.

In a checkout they are beside `src/`; in an installed wheel, in `stackwright/_assets`.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def roots() -> tuple[Path, ...]:
    return (_PACKAGE / "_assets", _PACKAGE.parent.parent)


def find(relative: str) -> Path | None:
    """The file or folder of that name, or None."""
    return next((path for root in roots() if (path := root / relative).exists()), None)


def require(relative: str) -> Path:
    """As `find`, but raises an error if the file is missing."""
    path = find(relative)
    if path is None:
        places = " nor ".join(str(root) for root in roots())
        raise FileNotFoundError(f"{relative} is neither in {places}: the installation is incomplete")
    return path
