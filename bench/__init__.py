"""Performance figures. `python -m bench` prints them; docs/reference/benchmarks.md explains them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # `support`
