"""Helm's records, and the values of charts. Pure."""
