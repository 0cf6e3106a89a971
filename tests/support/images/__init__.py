"""Libraries as in the images."""
