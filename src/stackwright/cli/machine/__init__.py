"""The local cluster: up, down, and what is wrong on this machine."""
