"""The steps of the bring-up, one file per step; `local/bringup.py` lists them in order."""
