"""Shared output of commands."""
