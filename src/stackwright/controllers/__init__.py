"""One folder a kind: observe.py reads, decide.py is pure, objects.py builds."""
