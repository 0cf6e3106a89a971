"""OpenStackCluster and OpenStackClusterTemplate."""
