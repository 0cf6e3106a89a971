"""Kubernetes' own objects: nodes, pods, taints, quantities, and the DaemonSet that holds images."""
