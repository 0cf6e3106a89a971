"""What is derived from the services: the kinds of a whole cloud, the registry of all kinds, the tested values."""
