"""What is to be in a cluster: manifests are read, checked, forecast, applied and deleted."""
