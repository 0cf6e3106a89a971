"""A folder per service with its declaration: pure data, and functions from its spec to Helm values."""
