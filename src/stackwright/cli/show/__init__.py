"""What is there: states, servers, logs, versions, the report."""
