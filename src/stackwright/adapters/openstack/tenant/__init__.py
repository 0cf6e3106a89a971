"""Projects of users in any OpenStack: core.openstack.clouds.Clouds, one session for each credential and project."""
