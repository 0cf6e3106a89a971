"""Registries for pushes, in memory and Debian's, and images to push."""
