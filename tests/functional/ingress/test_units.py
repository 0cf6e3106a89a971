"""The ingress' own tests, in Go."""

from __future__ import annotations

import os
import subprocess

from stackwright import assets
from stackwright.local.config import LocalCluster
from stackwright.local.tools import GO_ENVIRONMENT, find_go


def test_the_tests_in_go_pass() -> None:
    folder = assets.require("tools/ingress")
    env = {**os.environ, **GO_ENVIRONMENT}
    # With the flags of a built tool, whose compiled packages the test then finds in Go's cache.
    command = [find_go(LocalCluster.discover()), "test", "-trimpath", "-p", "1", "./..."]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
