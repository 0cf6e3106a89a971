"""Stand-ins for real systems, and specs, shared by several test folders and benchmarks."""
