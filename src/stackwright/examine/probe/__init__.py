"""`doctor --nodes`: an unprivileged pod on each node, which reports facts that the API server does not have."""
