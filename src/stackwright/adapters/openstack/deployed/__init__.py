"""The clouds that the operator deploys: catalog and users in Keystone, agents of nodes, contents, public endpoints."""
