"""The program designate-<argument>, with the changes of transfers.py in workers."""

import importlib
import sys

sys.path.append("/opt/stackwright")

component = sys.argv[1]
program = importlib.import_module(f"designate.cmd.{component}")
if component == "worker":
    import transfers

    transfers.install()
sys.argv = [f"designate-{component}"]
program.main()
