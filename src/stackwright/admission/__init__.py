"""The checks of an object before it is stored: for the webhook, and for `plan` and `apply`."""
