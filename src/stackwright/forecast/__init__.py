"""What the operator would do, and its cost, for `stackwright plan` and for questions about losses."""
