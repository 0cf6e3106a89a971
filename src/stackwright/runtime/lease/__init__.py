"""The Lease of the one active operator, its election, and the fence that stops writes without it."""
