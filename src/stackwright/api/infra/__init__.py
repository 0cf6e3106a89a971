"""The kinds of infrastructure.cluster.x-k8s.io."""
