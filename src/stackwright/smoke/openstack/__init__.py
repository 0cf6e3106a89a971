"""The cloud as the smoke test uses it: core.openstack.tenant by openstacksdk."""
