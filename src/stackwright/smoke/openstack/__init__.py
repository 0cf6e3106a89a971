"""smoke.tenant by openstacksdk: the cloud as the smoke test uses it."""
