"""Release records of Helm, and chart values. Pure."""
