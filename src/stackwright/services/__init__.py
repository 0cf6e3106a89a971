"""One declaration per service: pure data, and functions from its spec to Helm values."""
