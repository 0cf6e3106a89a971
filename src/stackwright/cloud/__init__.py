"""Derives from the services: the kinds of a whole cloud, the registry of all kinds, and the tested values."""
