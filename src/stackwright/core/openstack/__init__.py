"""An OpenStack as controllers, commands and the smoke test see it, and the course of what objects have in one. Pure."""
