"""A folder per service with its declaration: data, and pure functions from its spec to Helm values."""
