"""The cluster as the operator reads it: watches, the cache, and a write of a whole spec."""
