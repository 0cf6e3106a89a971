"""The program heat-engine, bounded by guard.py and limits.py.

When it stops, another one gets its messages (handover.py).
"""

import sys

import heat.cmd.engine

sys.path.append("/opt/stackwright")

import guard  # noqa: E402
import handover  # noqa: E402
import limits  # noqa: E402

guard.install()
limits.install()
handover.install()
sys.argv[0] = "heat-engine"
heat.cmd.engine.main()
