"""The vocabulary of the operator: plans, conditions, ports, digests, merging, graphs. Pure; imports only `api`."""
