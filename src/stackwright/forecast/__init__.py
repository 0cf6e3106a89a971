"""The actions that the operator would take, and their cost, for `stackwright plan` and for questions about losses."""
