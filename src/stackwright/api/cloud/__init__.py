"""The kinds that describe a whole cloud in one object: OpenStackDeployment and OpenStackControlPlane."""
