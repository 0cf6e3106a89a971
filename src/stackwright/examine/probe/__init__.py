"""`doctor --nodes`: a pod on each node without any privilege, which reports what the API server does not know."""
