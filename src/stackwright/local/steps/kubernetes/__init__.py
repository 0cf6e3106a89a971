"""The steps up to a Kubernetes cluster with ready nodes."""
