"""What each service is: one declaration per service, pure data and functions from spec to Helm values."""
