"""Shared code of the infrastructure.cluster.x-k8s.io controllers: server, machine, capicluster, floatingippool."""
