"""The cluster of a command: options that name it, connections to it, and completion of names in it."""
