"""A cloud as its users have it: addresses, credentials, clients, the smoke test."""
