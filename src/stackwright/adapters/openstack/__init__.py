"""OpenStack: `deployed`: the clouds that the operator deploys; `tenant`: any cloud that a Secret names."""
