"""Manifests in files: read, checked, and ordered for `apply`."""
