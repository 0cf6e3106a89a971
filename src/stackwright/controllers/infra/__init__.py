"""What the controllers of infrastructure.cluster.x-k8s.io share: server, machine, capicluster, floatingippool."""
