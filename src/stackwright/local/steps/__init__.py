"""The steps of the bring-up, one file per step; `local/cluster/bringup.py` lists them in order."""
