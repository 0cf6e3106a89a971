"""Kinds of the objects that a cloud is made of: services, their contracts, their Helm releases."""
