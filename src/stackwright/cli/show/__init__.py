"""Commands that show states, servers, logs, versions, and the report."""
