"""One operator at a time: the Lease, its election, and the fence that stops writes without it."""
