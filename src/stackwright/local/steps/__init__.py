"""One file a step of the bring-up; `local/bringup.py` lists them in order."""
