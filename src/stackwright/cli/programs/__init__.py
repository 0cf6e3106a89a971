"""The programs that run in pods."""
