"""Container images, and the guest's disk: recipes, builds, and the prepared store that nodes are clones of."""
