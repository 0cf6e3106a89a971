"""The program heat-engine, bounded by guard.py and limits.py."""

import sys

import heat.cmd.engine

sys.path.append("/opt/stackwright")

import guard  # noqa: E402
import limits  # noqa: E402

guard.install()
limits.install()
sys.argv[0] = "heat-engine"
heat.cmd.engine.main()
