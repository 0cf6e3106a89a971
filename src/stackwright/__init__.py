"""Stackwright deploys and operates OpenStack on Kubernetes."""

__version__ = "0.1.0"
