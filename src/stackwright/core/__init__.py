"""Pure types and functions that all controllers share: plans, conditions, ports, digests. Imports only `api`."""
