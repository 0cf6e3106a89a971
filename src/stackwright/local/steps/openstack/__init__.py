"""The steps from a Kubernetes to a cloud with a virtual machine."""
