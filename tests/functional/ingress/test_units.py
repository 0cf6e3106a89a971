"""The ingress' own tests, in Go."""

from __future__ import annotations

import os
import subprocess

from stackwright import assets
from stackwright.local.config import LocalCluster
from stackwright.local.tools import find_go


def test_the_tests_in_go_pass() -> None:
    folder = assets.require("tools/ingress")
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly", "GOTOOLCHAIN": "auto"}
    # The flags of `make tools`, whose compiled packages the test then finds in Go's cache.
    command = [find_go(LocalCluster.discover()), "test", "-trimpath", "-p", "1", "./..."]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
