"""Commands for existing clouds: wait, pause, resume, restart, history, rollback."""
