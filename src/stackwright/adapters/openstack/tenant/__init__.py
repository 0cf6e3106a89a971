"""Tenants' projects in any OpenStack: core.openstack.clouds.Clouds, one session per credentials and project."""
