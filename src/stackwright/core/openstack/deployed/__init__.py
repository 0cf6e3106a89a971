"""Agents, inventories and access of the clouds that Stackwright deploys. Pure."""
