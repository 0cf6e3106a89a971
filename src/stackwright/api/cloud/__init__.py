"""A whole cloud in one object: OpenStackDeployment and OpenStackControlPlane."""
