"""A real Kubernetes on one Linux machine, without a registry, a container runtime of the host, or a VM."""
