"""Helm and its release records."""
