"""Secrets: the actions that write them, and what is in those of our own. Pure."""
