"""The steps from a Kubernetes cluster to a cloud with a virtual machine."""
