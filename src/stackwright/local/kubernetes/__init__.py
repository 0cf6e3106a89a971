"""The control plane: command lines, certificates, a small client, and the cluster's own objects."""
