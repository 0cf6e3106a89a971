"""Implements smoke.tenant by openstacksdk."""
