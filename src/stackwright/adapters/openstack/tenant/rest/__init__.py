"""Requests to an OpenStack, by the APIs of the types of resources (`rest_types`)."""
