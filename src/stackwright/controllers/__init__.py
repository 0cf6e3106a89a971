"""The controllers, one folder per kind: observe.py reads, decide.py is pure, objects.py builds objects."""
