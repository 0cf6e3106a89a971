"""A node: its namespaces, network, mounts, program configuration, and power state."""
