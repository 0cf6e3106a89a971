"""One reconcile of one object, for the operator and for plans: observe, decide, execute, report."""
