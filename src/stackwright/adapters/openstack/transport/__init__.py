"""From credentials to checked responses: clouds.yaml, connections, time limits, sizes and shapes of responses."""
