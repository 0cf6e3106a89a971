"""A cloud is checked by using it: `stackwright smoke`, and the virtual machine that `up` ends with.

`ports.py` says what the checks need of the world, `checks/` holds them, one short file a subject, `run.py` runs them in
order and cleans up, `report.py` tells the results. `demo.py` makes the machine that stays.
"""
