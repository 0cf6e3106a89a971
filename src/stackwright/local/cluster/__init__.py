"""The cluster as a whole: bring-up, teardown, state, diagnosis."""
