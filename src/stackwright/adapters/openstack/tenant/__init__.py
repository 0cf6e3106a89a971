"""Projects of users in any OpenStack: core.clouds.Clouds, with one session for each credential and project."""
