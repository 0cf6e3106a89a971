"""OpenStack as controllers, commands and the smoke test use it, and the lifecycle of managed resources in it. Pure."""
