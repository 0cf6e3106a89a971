"""The admission webhook and its certificate."""
