"""The program heat-engine, with the limits of guard.py."""

import sys

import heat.cmd.engine

sys.path.append("/opt/stackwright")

import guard  # noqa: E402

guard.install()
sys.argv[0] = "heat-engine"
heat.cmd.engine.main()
