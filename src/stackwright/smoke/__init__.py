"""End-to-end checks of a cloud: `stackwright smoke`, and the demo virtual machine of `up`.

`checks/` has the checks, one short file per subject; `ports.py` defines what they need from outside; `run.py` runs them
in order and cleans up; `report.py` formats the results. `demo.py` creates the machine that stays.
"""
