"""The local cluster: up, down, and the diagnosis of this machine."""
