"""Commands for users of a cloud: credentials, a shell with clients, the smoke test."""
