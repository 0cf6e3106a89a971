"""From credentials to checked responses: clouds.yaml, connections, shared requests, limits and shapes of responses."""
