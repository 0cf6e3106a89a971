"""End-to-end checks of a cloud: `stackwright smoke`, and the demo virtual machine of `up`.

`checks/` contains the checks, one short file per subject; `ports.py` defines their interfaces to the outside; `run.py`
runs them in order and cleans up; `report.py` formats the results. `demo.py` creates the virtual machine that is kept.
"""
