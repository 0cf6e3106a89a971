"""The control plane: command lines, certificates, a small API client, and manifests of the cluster's own objects."""
