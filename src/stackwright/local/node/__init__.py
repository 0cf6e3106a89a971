"""A node: its namespaces, network, mounts, the configuration of its programs, its power."""
