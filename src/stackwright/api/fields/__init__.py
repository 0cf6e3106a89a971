"""Types of fields whose text has a form of its own: names, lines, schedules, INI."""
