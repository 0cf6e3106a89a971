"""The steps to a Kubernetes whose nodes are ready."""
