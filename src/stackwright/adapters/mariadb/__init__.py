"""The adapter for MariaDB: databases and accounts, and its limited connections."""
