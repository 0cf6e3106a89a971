"""Performance figures. `python -m bench` prints them; docs/reference/benchmarks.md explains them."""
