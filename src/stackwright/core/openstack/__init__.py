"""Resources in any OpenStack that a Secret names; `deployed`: the clouds that Stackwright deploys. Pure."""
