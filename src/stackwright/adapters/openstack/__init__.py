"""OpenStack: catalog and contents of the clouds that the operator deploys; `tenant`: any cloud that a Secret names."""
