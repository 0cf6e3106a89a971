"""Stand-ins for real systems, which several test folders and benchmarks use."""
