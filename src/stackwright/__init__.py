"""Stackwright deploys and operates OpenStack on Kubernetes."""
