"""Clouds that are there: waited for, paused, restarted, rolled back."""
