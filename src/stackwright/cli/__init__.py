"""The command line: one command per file in the folders of commands, which share the other modules."""
