"""Container images and the guest's disk: recipes, builds, and the prepared image store that nodes clone."""
