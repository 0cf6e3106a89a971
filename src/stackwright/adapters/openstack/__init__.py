"""OpenStack: the catalog and the contents of our own clouds, and `tenant`: any cloud that a Secret names."""
