"""What commands read of clouds: their objects in Kubernetes, and the responses of their public endpoints."""
