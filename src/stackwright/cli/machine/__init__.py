"""The local cluster: up, down, images, and the diagnosis of this machine."""
