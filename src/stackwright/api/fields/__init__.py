"""Types of text fields with a format: names, lines, schedules, INI."""
