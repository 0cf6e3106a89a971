"""Kinds of the objects of a cloud: services, their contracts, and their Helm releases."""
