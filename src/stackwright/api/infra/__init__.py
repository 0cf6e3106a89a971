"""The kinds of the group infrastructure.cluster.x-k8s.io."""
