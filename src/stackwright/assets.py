"""Finding what is not Python: charts, images' recipes, tools' go.mod files, examples.

In a checkout they lie beside `src/`; in an installed wheel, in `stackwright/_assets`.
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
    """As `find`, for what this program cannot work without."""
    path = find(relative)
    if path is None:
        places = " nor ".join(str(root) for root in roots())
        raise FileNotFoundError(f"{relative} is neither in {places}: the installation is incomplete")
    return path
