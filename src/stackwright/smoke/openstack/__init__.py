"""The cloud as the smoke test uses it: core.tenant by openstacksdk."""
