"""The cluster of a command: options that name it, connections to it, its failures, and completion of names in it."""
