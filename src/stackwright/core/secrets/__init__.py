"""Secrets: the actions that write them, and the content of those that the operator owns. Pure."""
