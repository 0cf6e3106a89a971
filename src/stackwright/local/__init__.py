"""A real Kubernetes on one Linux machine, without a registry, a virtual machine, or a container runtime on the host."""
