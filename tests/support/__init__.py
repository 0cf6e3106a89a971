"""Stand-ins for real systems, and specs, which several test folders and benchmarks use."""
