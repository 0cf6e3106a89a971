"""`stackwright images`: `images.py` has the group of commands, the other modules those that move complete images."""
