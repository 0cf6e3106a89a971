"""The program barbican-worker, with the keys of kek.py and the store of vault.py."""

import sys

import barbican.cmd.worker

sys.path.append("/opt/stackwright")

import kek  # noqa: E402
import vault  # noqa: E402

kek.install()
vault.install()
sys.argv[0] = "barbican-worker"
barbican.cmd.worker.main()
