"""How commands show what they do."""
