"""The Kubernetes API, for the operator and for the commands."""
